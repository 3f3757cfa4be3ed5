#include "src/chunk/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "src/chunk/zero_chunk.h"

namespace runnel {

namespace {

// What is scanned at once: still in the processor's cache when it is digested, large enough for many lanes.
constexpr size_t kScanBytesMax = 1024 * 1024;
constexpr size_t kWordBits = 64;

}  // namespace

void ChunkStream::Update(const uint8_t* bytes, size_t length) {
  bool is_cut = false;
  while (scan_ != nullptr && length >= kScanBytesMin) {
    const size_t scanned = std::min(length, kScanBytesMax);
    UpdateScanned(bytes, scanned);
    bytes += scanned;
    length -= scanned;
  }
  while (length != 0) {
    const size_t taken = UpdateToCut(bytes, length, &is_cut);
    bytes += taken;
    length -= taken;
  }
}

size_t ChunkStream::UpdateToCut(const uint8_t* bytes, size_t length, bool* is_cut) {
  const size_t before = chunker_.open_bytes();
  const ZeroChunk* zero_chunk = before == 0 ? BeginsWithZeroChunk(preset_, bytes, length) : nullptr;
  if (zero_chunk != nullptr) {
    chunks_.lengths.push_back(static_cast<uint32_t>(zero_chunk->length));
    chunks_.digests.push_back(zero_chunk->digest);
    *is_cut = true;
    return zero_chunk->length;
  }
  const size_t taken = chunker_.Next(bytes, length, is_cut);
  digest_.Update(bytes, taken);
  if (*is_cut) EndChunk(before + taken);
  return taken;
}

void ChunkStream::UpdateScanned(const uint8_t* bytes, size_t length) {
  breakpoints_.assign((length + kWordBits - 1) / kWordBits, 0);
  scan_(bytes, length, breakpoints_.data());
  size_t digested = 0;
  bool is_cut = false;
  while (digested < kScanHeadBytes) digested += UpdateToCut(bytes + digested, kScanHeadBytes - digested, &is_cut);
  size_t open_bytes = chunker_.open_bytes();
  size_t position = digested;
  while (position < length) {
    const size_t first = position + (open_bytes < preset_.bytes_min ? preset_.bytes_min - open_bytes : 1);
    const size_t last = position + preset_.bytes_max - open_bytes;
    size_t cut = first > length ? 0 : FindBreakpoint(bytes, first, std::min(last, length));
    if (cut == 0 && last <= length) cut = last;
    if (cut == 0) break;
    digest_.Update(bytes + digested, cut - digested);
    EndChunk(open_bytes + cut - position);
    digested = position = cut;
    open_bytes = 0;
  }
  digest_.Update(bytes + digested, length - digested);
  chunker_.GoOn(open_bytes + length - position, bytes + length);
}

size_t ChunkStream::FindBreakpoint(const uint8_t* bytes, size_t first, size_t last) const {
  size_t found = FindScanned(first, last);
  if (preset_.mask == kBreakpointMask) return found;
  while (found != 0 && (FingerprintBefore(bytes + found) & preset_.mask) != kBreakpointValue) {
    found = found < last ? FindScanned(found + 1, last) : 0;
  }
  return found;
}

size_t ChunkStream::FindScanned(size_t first, size_t last) const {
  for (size_t bit = first - 1; bit < last;) {
    const uint64_t word = breakpoints_[bit / kWordBits] >> (bit % kWordBits);
    if (word != 0) {
      const size_t found = bit + static_cast<size_t>(__builtin_ctzll(word)) + 1;
      return found <= last ? found : 0;
    }
    bit += kWordBits - bit % kWordBits;
  }
  return 0;
}

ChunkList ChunkStream::Finish() {
  if (chunker_.open_bytes() != 0) EndChunk(chunker_.open_bytes());
  chunker_ = Chunker(preset_);
  return std::exchange(chunks_, {});
}

void ChunkStream::EndChunk(size_t length) {
  chunks_.lengths.push_back(static_cast<uint32_t>(length));
  chunks_.digests.push_back(digest_.Finish());
}

}  // namespace runnel
