// Cuts a stream of bytes into chunks: the first breakpoint at least the preset's minimum after the last cut, its
// maximum at the latest, and the end. Whether a position is a breakpoint depends on the 48 bytes before it alone, and
// the minimum is longer than the window, so cuts do not depend on how the stream is split into calls nor on anything
// before the last cut.
#ifndef RUNNEL_CHUNK_CHUNKER_H_
#define RUNNEL_CHUNK_CHUNKER_H_

#include <cstddef>
#include <cstdint>

#include "chunk_preset.h"
#include "src/chunk/scan/plain_roll.h"

namespace runnel {

class Chunker {
 public:
  explicit Chunker(const ChunkPreset& preset) : preset_(&preset), roll_(preset.mask) {}

  // Takes bytes up to the next cut. Returns how many were taken; `is_cut` says whether a chunk ended after the last of
  // them. When it is false all `length` bytes were taken.
  size_t Next(const uint8_t* bytes, size_t length, bool* is_cut);

  // Continues after `open_bytes` bytes that were taken since the last cut by other means; `end` is where they end, and
  // the last kWindowBytes of them, as far as there are so many, lie before it.
  void GoOn(size_t open_bytes, const uint8_t* end);

  // Bytes taken since the last cut: the length of the last chunk when the stream ends here, 0 when there is none.
  size_t open_bytes() const { return open_bytes_; }

 private:
  const ChunkPreset* preset_;
  PlainRoll roll_;
  size_t open_bytes_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_CHUNKER_H_
