// Presets of the sizes of chunks. A small chunk finds more of what is there already; of a large file it makes a recipe
// that weighs on memory, disk and line. The breakpoints of a preset are breakpoints of the one before it; presets whose
// chunks have one size cut at that, whatever the bytes are.
#ifndef RUNNEL_CHUNK_CHUNK_PRESET_H_
#define RUNNEL_CHUNK_CHUNK_PRESET_H_

#include <cstddef>
#include <cstdint>

#include "rabin.h"

namespace runnel {

struct ChunkPreset {
  size_t bytes_min;
  size_t bytes_max;
  // A breakpoint's fingerprint has these bits of kBreakpointValue.
  uint64_t mask;
};

// chunk-presets.ts has the same numbers, and says which is for which file. The first is LBFS's; no chunk is larger than
// a run of data may be.
inline constexpr ChunkPreset kChunkPresets[] = {
    {2 * 1024, 64 * 1024, kBreakpointMask},      {16 * 1024, 512 * 1024, (1 << 16) - 1},
    {256 * 1024, 1024 * 1024, (1 << 19) - 1},    {64 * 1024, 64 * 1024, kBreakpointMask},
    {1024 * 1024, 1024 * 1024, kBreakpointMask},
};
inline constexpr size_t kChunkPresetCount = sizeof(kChunkPresets) / sizeof(kChunkPresets[0]);

constexpr bool IsFixed(const ChunkPreset& preset) { return preset.bytes_min == preset.bytes_max; }

static_assert(kChunkPresets[0].bytes_min >= kWindowBytes);

}  // namespace runnel

#endif  // RUNNEL_CHUNK_CHUNK_PRESET_H_
