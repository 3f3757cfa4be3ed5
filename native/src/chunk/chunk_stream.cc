#include "chunk_stream.h"

#include <algorithm>
#include <utility>

namespace runnel {

namespace {

// The most that is scanned at once: still in the processor's cache when it is digested, large enough for many lanes.
constexpr size_t kScanBytesMax = 1024 * 1024;
constexpr size_t kWordBits = 64;

// Returns the engine for a stream that is digested bit by bit.
const Sha256Engine& OneStreamOf(std::span<const Sha256Engine> engines) {
  return engines.size() == 1 && engines.front().streams == 1 ? engines.front() : FastestSha256();
}

}  // namespace

ChunkStream::ChunkStream(const ChunkPreset& preset, const ChunkEngines& engines)
    : preset_(preset), engines_(engines), chunker_(preset), digest_(OneStreamOf(engines.sha256)) {}

void ChunkStream::Update(const uint8_t* bytes, size_t length) {
  bool is_cut = false;
  while (engines_.scan != nullptr && length >= kScanBytesMin) {
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

void ChunkStream::UpdateZeros(uint64_t length) {
  const uint8_t* const zeros = Zeros().data();
  const auto at_once = [&] { return static_cast<size_t>(std::min<uint64_t>(length, Zeros().size())); };
  bool is_cut = false;
  while (length != 0 && !IsAtCut()) length -= UpdateToCut(zeros, at_once(), &is_cut);
  const ZeroChunk& chunk = ZeroChunkOf(preset_);
  for (; length >= chunk.length; length -= chunk.length) AddZeroChunk(chunk);
  if (length != 0) Update(zeros, at_once());
}

size_t ChunkStream::UpdateToCut(const uint8_t* bytes, size_t length, bool* is_cut) {
  const size_t before = chunker_.open_bytes();
  const ZeroChunk* zero_chunk = before == 0 ? BeginsWithZeroChunk(preset_, bytes, length) : nullptr;
  if (zero_chunk != nullptr) {
    AddZeroChunk(*zero_chunk);
    *is_cut = true;
    return zero_chunk->length;
  }
  const size_t taken = chunker_.Next(bytes, length, is_cut);
  AddToDigest(bytes, taken);
  if (*is_cut) EndChunk(before + taken);
  return taken;
}

void ChunkStream::UpdateScanned(const uint8_t* bytes, size_t length) {
  breakpoints_.assign((length + kWordBits - 1) / kWordBits, 0);
  // Without breakpoints all are cut at their largest.
  if (!IsFixed(preset_)) engines_.scan(bytes, length, breakpoints_.data());
  size_t position = 0;
  bool is_cut = false;
  while (position < kScanHeadBytes) position += UpdateToCut(bytes + position, kScanHeadBytes - position, &is_cut);
  const size_t head = position;
  size_t open_bytes = chunker_.open_bytes();
  ends_.clear();
  while (position < length) {
    const size_t first = position + (open_bytes < preset_.bytes_min ? preset_.bytes_min - open_bytes : 1);
    const size_t last = position + preset_.bytes_max - open_bytes;
    size_t cut = first > length ? 0 : FindBreakpoint(bytes, first, std::min(last, length));
    if (cut == 0 && last <= length) cut = last;
    if (cut == 0) break;
    chunks_.lengths.push_back(static_cast<uint32_t>(open_bytes + cut - position));
    ends_.push_back(cut - head);
    position = cut;
    open_bytes = 0;
  }
  if (!engines_.sha256.empty()) DigestEnded(bytes + head, length - head);
  chunker_.GoOn(open_bytes + length - position, bytes + length);
}

void ChunkStream::DigestEnded(const uint8_t* bytes, size_t length) {
  pieces_.clear();
  size_t begin = 0;
  for (const size_t end : ends_) {
    pieces_.push_back({begin == 0 ? digest_ : NewDigest(), bytes + begin, end - begin, true});
    begin = end;
  }
  pieces_.push_back({begin == 0 ? digest_ : NewDigest(), bytes + begin, length - begin, false});
  DigestAll(pieces_, engines_.sha256);
  for (size_t i = 0; i < ends_.size(); ++i) chunks_.digests.push_back(pieces_[i].digest);
  digest_ = pieces_.back().stream;
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

ChunkList ChunkStream::TakeEnded() { return std::exchange(chunks_, {}); }

ChunkList ChunkStream::Finish() {
  if (chunker_.open_bytes() != 0) EndChunk(chunker_.open_bytes());
  chunker_ = Chunker(preset_);
  return TakeEnded();
}

Sha256 ChunkStream::NewDigest() const { return Sha256(OneStreamOf(engines_.sha256)); }

void ChunkStream::AddZeroChunk(const ZeroChunk& chunk) {
  chunks_.lengths.push_back(static_cast<uint32_t>(chunk.length));
  if (!engines_.sha256.empty()) chunks_.digests.push_back(chunk.digest);
}

void ChunkStream::AddToDigest(const uint8_t* bytes, size_t length) {
  if (!engines_.sha256.empty()) digest_.Update(bytes, length);
}

void ChunkStream::EndChunk(size_t length) {
  chunks_.lengths.push_back(static_cast<uint32_t>(length));
  if (!engines_.sha256.empty()) chunks_.digests.push_back(digest_.Finish());
}

}  // namespace runnel
