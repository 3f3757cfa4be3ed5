#include "rechunk.h"

#include <algorithm>
#include <utility>

namespace runnel {

namespace {

// Past an edit the next cut of the base is an eighth of the largest chunk away or so: reading much more at once would
// be for nothing.
uint64_t StepBytesMin(const ChunkPreset& preset) { return preset.bytes_max / 2; }
constexpr uint64_t kStepBytesMax = 1024 * 1024;

uint64_t EndOf(const ContentRange& range) { return range.offset + range.length; }

}  // namespace

Rechunk::Rechunk(const ChunkPreset& preset, const std::vector<uint32_t>& base_lengths, std::vector<ContentRange> dirty,
                 uint64_t size)
    : size_(size), step_bytes_min_(StepBytesMin(preset)), stream_(preset) {
  uint64_t end = 0;
  for (const uint32_t length : base_lengths) {
    end += length;
    if (end > size) break;
    ends_.push_back(end);
  }
  // The base's last chunk was cut by its end, which is no end any more.
  if (!ends_.empty() && end < size) ends_.pop_back();
  const uint64_t known = ends_.empty() ? 0 : ends_.back();
  if (known < size) dirty.push_back({known, size - known});
  MarkDirty(std::move(dirty));
}

void Rechunk::MarkDirty(std::vector<ContentRange> dirty) {
  std::sort(dirty.begin(), dirty.end(),
            [](const ContentRange& one, const ContentRange& other) { return one.offset < other.offset; });
  for (const ContentRange& range : dirty) {
    if (range.length == 0 || range.offset >= size_) continue;
    const uint64_t end = range.offset + std::min(range.length, size_ - range.offset);
    if (!dirty_.empty() && range.offset <= EndOf(dirty_.back())) {
      dirty_.back().length = std::max(EndOf(dirty_.back()), end) - dirty_.back().offset;
    } else {
      dirty_.push_back({range.offset, end - range.offset});
    }
  }
}

bool Rechunk::Next(ContentRange* range) {
  if (!is_rolling_) {
    if (dirty_at_ == dirty_.size()) {
      Keep(kept_until_, ends_.size());
      return false;
    }
    StartRolling();
  }
  if (position_ == size_) {
    KeepEnded(stream_.Finish());
    return false;
  }
  const uint64_t dirty_end = dirty_at_ < dirty_.size() ? EndOf(dirty_[dirty_at_]) : 0;
  const uint64_t wanted = std::clamp(dirty_end > position_ ? dirty_end - position_ : 0, step_bytes_min_, kStepBytesMax);
  *range = {position_, std::min(wanted, size_ - position_)};
  return true;
}

void Rechunk::StartRolling() {
  const uint64_t edit = dirty_[dirty_at_].offset;
  const size_t chunk = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), edit) - ends_.begin());
  Keep(kept_until_, chunk);
  position_ = chunk == 0 ? 0 : ends_[chunk - 1];
  is_rolling_ = true;
}

void Rechunk::Take(const uint8_t* bytes, size_t length) {
  result_.bytes_read += length;
  if (DirtyAhead() >= length) {
    stream_.Update(bytes, length);
    TookDirty(length);
    return;
  }
  while (length != 0) {
    bool is_cut = false;
    const size_t taken = stream_.UpdateToCut(bytes, length, &is_cut);
    position_ += taken;
    bytes += taken;
    length -= taken;
    if (!is_cut) continue;
    KeepEnded(stream_.TakeEnded());
    if (IsInStep()) {
      is_rolling_ = false;
      return;
    }
  }
}

uint64_t Rechunk::TakeZeros(uint64_t length) {
  const uint64_t taken = std::min(length, DirtyAhead());
  if (taken == 0) return 0;
  stream_.UpdateZeros(taken);
  TookDirty(taken);
  return taken;
}

uint64_t Rechunk::DirtyAhead() const {
  if (dirty_at_ == dirty_.size()) return 0;
  const ContentRange& dirty = dirty_[dirty_at_];
  return dirty.offset <= position_ && EndOf(dirty) > position_ ? EndOf(dirty) - position_ : 0;
}

void Rechunk::TookDirty(uint64_t length) {
  position_ += length;
  KeepEnded(stream_.TakeEnded());
  if (stream_.IsAtCut() && IsInStep()) is_rolling_ = false;
}

bool Rechunk::IsInStep() {
  while (dirty_at_ < dirty_.size() && EndOf(dirty_[dirty_at_]) <= position_) ++dirty_at_;
  if (dirty_at_ < dirty_.size() && dirty_[dirty_at_].offset < position_) return false;
  const auto end = std::lower_bound(ends_.begin(), ends_.end(), position_);
  if (end == ends_.end() || *end != position_) return false;
  kept_until_ = static_cast<size_t>(end - ends_.begin()) + 1;
  return true;
}

void Rechunk::Keep(size_t first, size_t end) {
  if (first == end) return;
  result_.spans.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(end - first), 0});
}

void Rechunk::KeepEnded(const ChunkList& ended) {
  if (ended.lengths.empty()) return;
  if (result_.spans.empty()) result_.spans.push_back({0, 0, 0});
  result_.spans.back().fresh += static_cast<uint32_t>(ended.lengths.size());
  result_.fresh.lengths.insert(result_.fresh.lengths.end(), ended.lengths.begin(), ended.lengths.end());
  result_.fresh.digests.insert(result_.fresh.digests.end(), ended.digests.begin(), ended.digests.end());
}

RechunkResult Rechunk::Finish() { return std::exchange(result_, {}); }

}  // namespace runnel
