// Files of cache and overlays by the calls of POSIX and of Linux.
#include "../../overlay_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/file/posix/retry.h"

namespace runnel::drive {
namespace {

int OpenAt(const std::string& path, int flags, int* fd) {
  *fd = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, 0600); });
  return *fd < 0 ? errno : 0;
}

}  // namespace

int OpenContentFile(const std::string& path, int* fd) { return OpenAt(path, O_RDONLY, fd); }

int MakeOverlayFile(const std::string& path, int* fd) { return OpenAt(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, fd); }

void RemoveOverlayFile(const std::string& path) { unlink(path.c_str()); }

void CloseOverlay(int fd) { close(fd); }

int ReadOverlay(int fd, uint64_t offset, char* to, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t count = Retry([&] { return pread(fd, to + done, length - done, static_cast<off_t>(offset + done)); });
    if (count <= 0) return count < 0 ? errno : EIO;
    done += static_cast<size_t>(count);
  }
  return 0;
}

int WriteOverlay(int fd, uint64_t offset, const char* data, size_t size, size_t* written) {
  *written = 0;
  while (*written < size) {
    const off_t at = static_cast<off_t>(offset + *written);
    const ssize_t count = Retry([&] { return pwrite(fd, data + *written, size - *written, at); });
    if (count <= 0) return count < 0 ? errno : EIO;
    *written += static_cast<size_t>(count);
  }
  return 0;
}

int ReserveOverlay(int fd, uint64_t offset, uint64_t length) {
  const int error = Try([&] { return fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(length)); });
  return error == EOPNOTSUPP ? 0 : error;
}

int ZeroOverlay(int fd, uint64_t offset, uint64_t end) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const int error = Try([&] { return fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(end - offset)); });
  if (error != 0) return error;
  struct stat stat = {};
  if (fstat(fd, &stat) != 0) return errno;
  if (static_cast<uint64_t>(stat.st_size) >= end) return 0;
  return Try([&] { return ftruncate(fd, static_cast<off_t>(end)); });
}

uint64_t AllocatedBytesOf(int fd) {
  constexpr uint64_t kStatBlock = 512;  // stat(2)
  struct stat stat = {};
  if (fstat(fd, &stat) != 0) return 0;
  return static_cast<uint64_t>(stat.st_blocks) * kStatBlock;
}

}  // namespace runnel::drive
