#include "src/chunk/chunker.h"

#include <algorithm>

namespace runnel {

namespace {

// No window that decides about a cut reaches back before this many bytes after the last one.
constexpr size_t kSkippedBytes = kChunkBytesMin - kWindowBytes;

}  // namespace

size_t Chunker::Next(const uint8_t* bytes, size_t length, bool* is_cut) {
  *is_cut = false;
  size_t taken = 0;
  if (open_bytes_ < kSkippedBytes) {
    taken = std::min(length, kSkippedBytes - open_bytes_);
    open_bytes_ += taken;
    if (open_bytes_ < kSkippedBytes) return taken;
  }
  const size_t rest = std::min(length - taken, kChunkBytesMax - open_bytes_);
  if (rest == 0) return taken;
  const size_t check_from = open_bytes_ < kChunkBytesMin ? kChunkBytesMin - open_bytes_ : 1;
  bool found = false;
  const size_t rolled = roll_.Run(bytes + taken, rest, check_from, &found);
  taken += rolled;
  open_bytes_ += rolled;
  if (found || open_bytes_ == kChunkBytesMax) {
    *is_cut = true;
    open_bytes_ = 0;
    roll_.Reset();
  }
  return taken;
}

void Chunker::GoOn(size_t open_bytes, const uint8_t* end) {
  open_bytes_ = open_bytes;
  roll_.Reset();
  if (open_bytes <= kSkippedBytes) return;
  const size_t rolled = std::min(open_bytes - kSkippedBytes, kWindowBytes);
  roll_.Fill(end - rolled, rolled);
}

}  // namespace runnel
