#include "src/file/watch_batch.h"

namespace runnel {

void WatchBatch::Add(const std::string& path, WatchKind kind) {
  const auto [place, is_new] = places_.try_emplace(path, events_.size());
  if (!is_new) {
    WatchEvent& event = events_[place->second];
    if (event.kind == WatchKind::kWriting) event.kind = kind;
  } else if (events_.size() < kPathsMax) {
    events_.push_back({path, kind});
  } else {
    Overflow();
  }
}

void WatchBatch::Overflow() {
  Clear();
  places_.emplace("", 0);
  events_.push_back({"", WatchKind::kOverflow});
}

void WatchBatch::Clear() {
  events_.clear();
  places_.clear();
}

}  // namespace runnel
