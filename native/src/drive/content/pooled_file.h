// Files of cache and overlays, known by their paths: opened when they are used, and closed again, least recently used
// first, when more of them are open than a tenth of what this process may have open at once.
//
// Thread-safe. The pool's mutex is a leaf and held across no system call; opening happens on the caller's thread. A
// file that is in use stays open until its user lets go.
#ifndef RUNNEL_DRIVE_CONTENT_POOLED_FILE_H_
#define RUNNEL_DRIVE_CONTENT_POOLED_FILE_H_

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/drive/kinds.h"

namespace runnel::drive {

// A descriptor that closes itself.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  ~UniqueFd();
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int Get() const { return fd_; }

 private:
  int fd_;
};
using SharedFd = std::shared_ptr<const UniqueFd>;

class PooledFile {
 public:
  // `can_write`: how it is opened again. Without a path it stays open.
  PooledFile(std::string path, bool can_write, UniqueFd fd);
  ~PooledFile();
  PooledFile(const PooledFile&) = delete;

  const std::string& path() const { return path_; }
  // Open for as long as its user holds *fd.
  Kind Use(SharedFd* fd);
  // From here on it stays open, since its path is to lead elsewhere.
  Kind Pin();
  // Bytes of disk that it takes; 0 when that cannot be known.
  uint64_t AllocatedBytes();

  // Opens a file by `open`. Where the process has no descriptor left, pooled files are closed for it.
  static Kind OpenReclaiming(const std::function<Kind(int*)>& open, UniqueFd* fd);
  // Counts those that are open now and can be closed again.
  static size_t OpenCount();

 private:
  struct Pool;
  static Pool& ThePool();

  const std::string path_;
  const bool can_write_;
  // Under the pool's mutex.
  SharedFd fd_;
  bool is_pinned_;
  std::optional<std::list<PooledFile*>::iterator> place_;  // among those that may be closed
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CONTENT_POOLED_FILE_H_
