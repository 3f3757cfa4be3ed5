// Cuts an edited content anew and reads only around the edits. An edit overwrites in place, appends or truncates: bytes
// keep their offsets. A cut depends on the bytes since the cut before it alone, so what lies between two edits is cut
// as in the base from the first cut on that both have; the result is what cutting the whole would give, provided that
// the base was cut by the same chunker.
//
// Pure: it says what it wants to read and is given the bytes.
#ifndef RUNNEL_CHUNK_RECHUNK_H_
#define RUNNEL_CHUNK_RECHUNK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk_stream.h"

namespace runnel {

struct ContentRange {
  uint64_t offset;
  uint64_t length;
};

// Stands for `kept` chunks of the base from `first` on, then `fresh` new ones.
struct RecipeSpan {
  uint32_t first;
  uint32_t kept;
  uint32_t fresh;
};

struct RechunkResult {
  std::vector<RecipeSpan> spans;
  ChunkList fresh;
  uint64_t bytes_read = 0;
};

class Rechunk {
 public:
  // `dirty`: where the content of `size` bytes may differ from the base, in any order. What lies past the base's end is
  // dirty by itself. `preset`: one of kChunkPresets, the base's.
  Rechunk(const ChunkPreset& preset, const std::vector<uint32_t>& base_lengths, std::vector<ContentRange> dirty,
          uint64_t size);

  // The range to be read next; false when all is known.
  bool Next(ContentRange* range);
  // The bytes of that range, all of them.
  void Take(const uint8_t* bytes, size_t length);
  // Stands in for Take when that range and what follows it are so many zeros: takes those that need not be read, and
  // returns how many; when none, the range has to be read.
  uint64_t TakeZeros(uint64_t length);

  // After Next has answered false; once.
  RechunkResult Finish();

 private:
  void MarkDirty(std::vector<ContentRange> dirty);
  void StartRolling();
  // Returns how many of the next bytes may differ from the base: no cut before their end can be in step with it.
  uint64_t DirtyAhead() const;
  void TookDirty(uint64_t length);
  // A chunk ended at position_. True when it is a cut of the base and nothing that follows it up to the next edit
  // differs.
  bool IsInStep();
  void Keep(size_t first, size_t end);
  void KeepEnded(const ChunkList& ended);

  const uint64_t size_;
  const uint64_t step_bytes_min_;
  std::vector<uint64_t> ends_;       // of the base's chunks that may be kept
  std::vector<ContentRange> dirty_;  // sorted, apart from each other
  size_t dirty_at_ = 0;              // the first that does not lie before position_
  size_t kept_until_ = 0;            // chunks of ends_ that were kept or passed
  uint64_t position_ = 0;
  bool is_rolling_ = false;
  ChunkStream stream_;
  RechunkResult result_;
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_RECHUNK_H_
