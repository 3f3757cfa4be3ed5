#include "extent_map.h"

#include <algorithm>

namespace runnel::drive {

void ExtentMap::Add(uint64_t offset, uint64_t length) {
  if (length == 0) return;
  uint64_t start = offset;
  uint64_t end = offset + length;
  auto next = ends_.upper_bound(start);
  if (next != ends_.begin()) {
    auto previous = std::prev(next);
    if (previous->second >= start) {
      if (previous->second >= end) return;
      // Grows the range before it in place: sequential writing costs no allocation.
      start = previous->first;
      while (next != ends_.end() && next->first <= end) {
        end = std::max(end, next->second);
        next = ends_.erase(next);
      }
      previous->second = end;
      return;
    }
  }
  while (next != ends_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace_hint(next, start, end);
}

void ExtentMap::Cut(uint64_t size) {
  ends_.erase(ends_.lower_bound(size), ends_.end());
  if (ends_.empty()) return;
  auto last = std::prev(ends_.end());
  last->second = std::min(last->second, size);
}

ExtentMap::Run ExtentMap::At(uint64_t offset, uint64_t end) const {
  auto next = ends_.upper_bound(offset);
  if (next != ends_.begin()) {
    auto previous = std::prev(next);
    if (previous->second > offset) return {true, std::min(previous->second, end)};
  }
  return {false, next == ends_.end() ? end : std::min(next->first, end)};
}

std::vector<ByteRange> ExtentMap::Ranges() const {
  std::vector<ByteRange> ranges;
  ranges.reserve(ends_.size());
  for (const auto& [start, end] : ends_) ranges.push_back({start, end - start});
  return ranges;
}

}  // namespace runnel::drive
