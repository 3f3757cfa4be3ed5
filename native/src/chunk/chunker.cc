#include "chunker.h"

#include <algorithm>

namespace runnel {

namespace {

// No window that decides about a cut reaches back before this many bytes after the last one.
size_t SkippedBytes(const ChunkPreset& preset) { return preset.bytes_min - kWindowBytes; }

}  // namespace

size_t Chunker::Next(const uint8_t* bytes, size_t length, bool* is_cut) {
  *is_cut = false;
  const size_t skipped = SkippedBytes(*preset_);
  size_t taken = 0;
  if (open_bytes_ < skipped) {
    taken = std::min(length, skipped - open_bytes_);
    open_bytes_ += taken;
    if (open_bytes_ < skipped) return taken;
  }
  const size_t rest = std::min(length - taken, preset_->bytes_max - open_bytes_);
  if (rest == 0) return taken;
  const size_t check_from = open_bytes_ < preset_->bytes_min ? preset_->bytes_min - open_bytes_ : 1;
  bool found = false;
  const size_t rolled = roll_.Run(bytes + taken, rest, check_from, &found);
  taken += rolled;
  open_bytes_ += rolled;
  if (found || open_bytes_ == preset_->bytes_max) {
    *is_cut = true;
    open_bytes_ = 0;
    roll_.Reset();
  }
  return taken;
}

void Chunker::GoOn(size_t open_bytes, const uint8_t* end) {
  open_bytes_ = open_bytes;
  roll_.Reset();
  const size_t skipped = SkippedBytes(*preset_);
  if (open_bytes <= skipped) return;
  const size_t rolled = std::min(open_bytes - skipped, kWindowBytes);
  roll_.Fill(end - rolled, rolled);
}

}  // namespace runnel
