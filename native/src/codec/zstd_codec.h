// zstd (RFC 8878) on whole buffers, with outputs that are bounded before they are made. One frame per run, no
// dictionary. Contexts are kept per thread; nothing is shared between threads.
#ifndef RUNNEL_CODEC_ZSTD_CODEC_H_
#define RUNNEL_CODEC_ZSTD_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel {

// Compresses at `level` (1–19). Returns false, with `output` empty, when the result would not be smaller than the
// input.
bool Compress(const uint8_t* bytes, size_t length, int level, std::vector<uint8_t>* output);

// True when `bytes` starts like one frame that takes all of `length` and does not say it has another size than
// `raw_bytes`: the check that comes before memory for the result.
bool MayHoldRun(const uint8_t* bytes, size_t length, size_t raw_bytes);

// Writes exactly `raw_bytes` to `output`. Returns false when `bytes` is not one whole frame of that many bytes.
bool Decompress(const uint8_t* bytes, size_t length, uint8_t* output, size_t raw_bytes);

}  // namespace runnel

#endif  // RUNNEL_CODEC_ZSTD_CODEC_H_
