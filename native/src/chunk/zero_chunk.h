// The chunk that zeros are cut into. Holes are read as zeros, and a sparse file can have gigabytes of them: told by
// looking, or known without reading, they need not be cut and digested again and again.
#ifndef RUNNEL_CHUNK_ZERO_CHUNK_H_
#define RUNNEL_CHUNK_ZERO_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "chunk_preset.h"
#include "src/digest/sha256.h"

namespace runnel {

struct ZeroChunk {
  size_t length;
  Digest digest;
};

// Returns the chunk that begins with zeros and goes on so until it is cut; `preset` is one of kChunkPresets.
const ZeroChunk& ZeroChunkOf(const ChunkPreset& preset);

// The preset's zero chunk when the first bytes are that, else nullptr. Costs nothing when they are not zeros.
const ZeroChunk* BeginsWithZeroChunk(const ChunkPreset& preset, const uint8_t* bytes, size_t length);

// Zeros, as many as the largest zero chunk has.
std::span<const uint8_t> Zeros();

// The zero chunk of any preset that is exactly these bytes, else nullptr.
const ZeroChunk* IsZeroChunk(const uint8_t* bytes, size_t length);

}  // namespace runnel

#endif  // RUNNEL_CHUNK_ZERO_CHUNK_H_
