// Sorted, disjoint, non-touching byte ranges: the dirty extents of an overlay, the present ranges of a cached content.
// Not thread-safe.
#ifndef RUNNEL_DRIVE_CONTENT_EXTENT_MAP_H_
#define RUNNEL_DRIVE_CONTENT_EXTENT_MAP_H_

#include <cstdint>
#include <map>
#include <vector>

#include "src/drive/drive.h"

namespace runnel::drive {

class ExtentMap {
 public:
  // From an offset on: inside a range or not, and where that ends (at most `end`).
  struct Run {
    bool is_inside;
    uint64_t until;
  };

  void Add(uint64_t offset, uint64_t length);
  // Forgets everything at and after `size`.
  void Cut(uint64_t size);
  bool IsEmpty() const { return ends_.empty(); }
  size_t Count() const { return ends_.size(); }
  Run At(uint64_t offset, uint64_t end) const;
  std::vector<ByteRange> Ranges() const;

 private:
  std::map<uint64_t, uint64_t> ends_;  // start → end
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CONTENT_EXTENT_MAP_H_
