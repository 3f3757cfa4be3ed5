// Cached contents: a sparse file that holds some ranges of one version, and which of them are on their way.
//
// Content is thread-safe; its mutex is a leaf but for the request table's and that of pooled files. Its owners are the
// table (until dropContent) and the files over it.
#ifndef RUNNEL_DRIVE_CONTENT_CONTENT_H_
#define RUNNEL_DRIVE_CONTENT_CONTENT_H_

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "extent_map.h"
#include "pooled_file.h"
#include "src/drive/drive.h"

namespace runnel::drive {

class Content {
 public:
  // Without a path the file is open for as long as the content is.
  Content(uint64_t id, uint64_t node, uint64_t version, uint64_t size_bytes, std::string path, UniqueFd fd)
      : id(id), node(node), version(version), size_bytes(size_bytes), file(std::move(path), false, std::move(fd)) {}

  const uint64_t id;
  const uint64_t node;
  const uint64_t version;
  const uint64_t size_bytes;
  mutable PooledFile file;  // read only

  ExtentMap::Run PresentAt(uint64_t offset, uint64_t end) const;
  void AddPresent(const std::vector<ByteRange>& ranges);
  // The same version in the same file: what is present in the one is present in the other.
  bool IsSame(const Content& other) const;
  void AddPresentOf(const Content& other);
  // Bytes of disk; what is not here counts as if it had no holes.
  uint64_t AllocatedBytes() const;

  // A reader that lacks [offset, end) waits under `waiter`. True when it joined a fetch that is under way; else the
  // caller asks under `ask`, which has been entered. True and *is_present when it has become present meanwhile.
  bool JoinFetch(uint64_t offset, uint64_t end, uint64_t waiter, uint64_t ask, bool* is_present);
  // The fetch has been answered: who waited for it.
  std::vector<uint64_t> EndFetch(uint64_t ask);
  // A waiter gave up. The ask that nobody waits for any longer, or 0.
  uint64_t LeaveFetch(uint64_t waiter);

 private:
  struct Fetch {
    uint64_t ask;
    uint64_t offset;
    uint64_t end;
    std::vector<uint64_t> waiters;
  };

  mutable std::mutex mutex_;
  ExtentMap present_;
  mutable std::optional<uint64_t> allocated_bytes_;  // since `present_` last grew
  std::list<Fetch> fetches_;
};
using ContentPtr = std::shared_ptr<Content>;

// DriveCore guards it: it is not thread-safe.
class ContentTable {
 public:
  // A content that is there already stays, since files may be open over it, and takes what is present.
  void Put(ContentPtr content);
  ContentPtr Find(uint64_t id) const;
  ContentPtr FindVersion(uint64_t node, uint64_t version) const;
  // False when a file is open over it: it stays.
  bool Drop(uint64_t id);
  void Erase(uint64_t id);

 private:
  std::unordered_map<uint64_t, ContentPtr> contents_;
  std::unordered_multimap<uint64_t, uint64_t> of_node_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CONTENT_CONTENT_H_
