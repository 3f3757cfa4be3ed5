// Events waiting to be told: one per path, in the order in which the paths first came.
#ifndef RUNNEL_FILE_WATCH_BATCH_H_
#define RUNNEL_FILE_WATCH_BATCH_H_

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/file/watcher.h"

namespace runnel {

class WatchBatch {
 public:
  // Past this many paths they are forgotten and "overflow" is told instead.
  static constexpr size_t kPathsMax = 65'536;

  // "changed" outweighs "writing" of the same path: whoever looks because of the one sees the other.
  void Add(const std::string& path, WatchKind kind);

  // Everything so far is lost or will be found by a whole scan.
  void Overflow();

  std::vector<WatchEvent>* events() { return &events_; }
  bool is_empty() const { return events_.empty(); }

  // To be called after the events were taken.
  void Clear();

 private:
  std::vector<WatchEvent> events_;
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_WATCH_BATCH_H_
