// Events waiting to be told: one per path, a folder before what is in it, so that whoever looks at them in order never
// takes something in a new folder for a rest of the old one.
#ifndef RUNNEL_FILE_WATCH_BATCH_H_
#define RUNNEL_FILE_WATCH_BATCH_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "watcher.h"

namespace runnel {

class WatchBatch {
 public:
  // Past this many paths they are forgotten and "overflow" is told instead.
  static constexpr size_t kPathsMax = 65'536;

  // "changed" and "writing" of the same path are one "written": there is no more to wait for, and that bytes changed is
  // not forgotten.
  void Add(const std::string& path, WatchKind kind);

  // Everything so far is lost or will be found by a whole scan.
  void Overflow();

  size_t size() const { return kinds_.size(); }

  std::vector<WatchEvent> Take();

 private:
  // Sorted, a folder comes before what is in it.
  std::map<std::string, WatchKind> kinds_;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_WATCH_BATCH_H_
