// Extended attributes that the agent has told, by node, so that they can be told again without it while they are those
// of the node's last change.
#ifndef RUNNEL_DRIVE_TABLES_HELD_XATTRS_H_
#define RUNNEL_DRIVE_TABLES_HELD_XATTRS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "src/drive/drive.h"

namespace runnel::drive {

using XattrsPtr = std::shared_ptr<const Xattrs>;

// The most recently used ones, within a number of bytes. For one thread at a time.
class HeldXattrs {
 public:
  // Returns those of the change `seq` of the node, or null.
  XattrsPtr Find(uint64_t node, uint64_t seq);
  void Hold(uint64_t node, uint64_t seq, XattrsPtr xattrs);

 private:
  struct Held {
    uint64_t node = 0;
    uint64_t seq = 0;
    size_t bytes = 0;
    XattrsPtr xattrs;
  };

  void Drop(std::list<Held>::iterator held);

  std::list<Held> by_use_;  // last used first
  std::unordered_map<uint64_t, std::list<Held>::iterator> by_node_;
  size_t bytes_ = 0;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_HELD_XATTRS_H_
