#include "stale_folders.h"

#include <algorithm>
#include <utility>

namespace runnel::drive {

void StaleFolders::Put(uint64_t folder, Mark mark, int64_t now_ms) {
  if (folders_.size() >= sweep_size_) {
    std::erase_if(folders_, [now_ms](const auto& each) { return each.second.until_ms <= now_ms; });
    sweep_size_ = std::max(kSweepSizeMin, 2 * folders_.size());
  }
  last_until_ms_ = std::max(last_until_ms_, mark.until_ms);
  folders_.emplace(folder, std::move(mark));
}

void StaleFolders::End(uint64_t folder, uint64_t number) {
  const auto [begin, end] = folders_.equal_range(folder);
  const auto at = std::find_if(begin, end, [number](const auto& each) { return each.second.number == number; });
  if (at == end) return;
  folders_.erase(at);
  if (folders_.empty()) last_until_ms_ = 0;
}

bool StaleFolders::Has(uint64_t folder, int64_t now_ms) const {
  const auto [begin, end] = folders_.equal_range(folder);
  return std::any_of(begin, end, [now_ms](const auto& each) { return each.second.until_ms > now_ms; });
}

std::vector<StaleFolders::Mark> StaleFolders::MarksOf(uint64_t folder, int64_t now_ms) const {
  std::vector<Mark> marks;
  const auto [begin, end] = folders_.equal_range(folder);
  for (auto at = begin; at != end; ++at) {
    if (at->second.until_ms > now_ms) marks.push_back(at->second);
  }
  return marks;
}

}  // namespace runnel::drive
