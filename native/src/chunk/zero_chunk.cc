#include "zero_chunk.h"

#include <cstring>
#include <vector>

#include "chunker.h"

namespace runnel {

namespace {

ZeroChunk CutZeros(const ChunkPreset& preset) {
  bool is_cut = false;
  const size_t length = Chunker(preset).Next(Zeros().data(), preset.bytes_max, &is_cut);
  Sha256 digest;
  digest.Update(Zeros().data(), length);
  return {length, digest.Finish()};
}

std::vector<ZeroChunk> CutAll() {
  std::vector<ZeroChunk> chunks;
  for (const ChunkPreset& preset : kChunkPresets) chunks.push_back(CutZeros(preset));
  return chunks;
}

bool AreZeros(const uint8_t* bytes, size_t length) {
  // Every byte equals the next one, and the first is zero.
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, length - 1) == 0;
}

}  // namespace

const ZeroChunk& ZeroChunkOf(const ChunkPreset& preset) {
  // Never destroyed: the pool's threads are at work while a process ends.
  static const auto& chunks = *new const std::vector<ZeroChunk>(CutAll());
  return chunks[static_cast<size_t>(&preset - kChunkPresets)];
}

const ZeroChunk* BeginsWithZeroChunk(const ChunkPreset& preset, const uint8_t* bytes, size_t length) {
  if (length < preset.bytes_min || bytes[0] != 0) return nullptr;
  const ZeroChunk& chunk = ZeroChunkOf(preset);
  return length >= chunk.length && AreZeros(bytes, chunk.length) ? &chunk : nullptr;
}

std::span<const uint8_t> Zeros() {
  static const auto& zeros = *new const std::vector<uint8_t>(kChunkPresets[kChunkPresetCount - 1].bytes_max);
  return zeros;
}

const ZeroChunk* IsZeroChunk(const uint8_t* bytes, size_t length) {
  if (length == 0 || bytes[0] != 0) return nullptr;
  for (const ChunkPreset& preset : kChunkPresets) {
    const ZeroChunk& chunk = ZeroChunkOf(preset);
    if (chunk.length == length) return AreZeros(bytes, length) ? &chunk : nullptr;
  }
  return nullptr;
}

}  // namespace runnel
