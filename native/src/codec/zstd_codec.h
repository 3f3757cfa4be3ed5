// zstd (RFC 8878) on whole buffers, with outputs that are bounded before they are made. One frame per run, no
// dictionary. Contexts are kept per thread; nothing is shared between threads.
//
// A run may be compressed against a prefix: bytes that both sides hold and that the run resembles, taken as if they
// came just before it. The frame then says little more than the difference (what `zstd --patch-from` does).
#ifndef RUNNEL_CODEC_ZSTD_CODEC_H_
#define RUNNEL_CODEC_ZSTD_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel {

struct ByteView {
  const uint8_t* data = nullptr;
  size_t length = 0;
};

// Compresses at `level` (1–19) against `prefix`, which may be empty and must lie elsewhere in memory. Returns false,
// with `output` empty, when the result would not be smaller than the input.
bool Compress(ByteView bytes, ByteView prefix, int level, std::vector<uint8_t>* output);

// True when `bytes` starts like one frame that takes all of them and does not say it has another size than
// `raw_bytes`: the check that comes before memory for the result.
bool MayHoldRun(ByteView bytes, size_t raw_bytes);

// Writes exactly `raw_bytes` to `output`. Returns false when `bytes` is not one whole frame of that many bytes, or
// was compressed against another prefix.
bool Decompress(ByteView bytes, ByteView prefix, uint8_t* output, size_t raw_bytes);

}  // namespace runnel

#endif  // RUNNEL_CODEC_ZSTD_CODEC_H_
