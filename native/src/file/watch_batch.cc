#include "watch_batch.h"

namespace runnel {

void WatchBatch::Add(const std::string& path, WatchKind kind) {
  const auto [place, is_new] = kinds_.try_emplace(path, kind);
  if (!is_new && place->second != kind) place->second = WatchKind::kWritten;
  if (kinds_.size() > kPathsMax) Overflow();
}

void WatchBatch::Overflow() {
  kinds_.clear();
  kinds_.emplace("", WatchKind::kOverflow);
}

std::vector<WatchEvent> WatchBatch::Take() {
  std::vector<WatchEvent> events;
  events.reserve(kinds_.size());
  for (const auto& [path, kind] : kinds_) events.push_back({path, kind});
  kinds_.clear();
  return events;
}

}  // namespace runnel
