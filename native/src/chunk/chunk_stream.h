// Cuts a stream and digests its chunks on the way, many at once, while their bytes are in the processor's cache.
#ifndef RUNNEL_CHUNK_CHUNK_STREAM_H_
#define RUNNEL_CHUNK_CHUNK_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunker.h"
#include "src/chunk/scan/breakpoint_scan.h"
#include "src/digest/sha256.h"
#include "src/digest/sha256_batch.h"
#include "zero_chunk.h"

namespace runnel {

struct ChunkList {
  std::vector<uint32_t> lengths;
  std::vector<Digest> digests;  // as many
};

// With what a stream works, where it is not to be the fastest that the processor has.
struct ChunkEngines {
  // Finds breakpoints of large inputs; nullptr for the plain roll alone.
  BreakpointScan scan = FastestScan();
  // All of Sha256Engines(), or one of them alone. None: chunks are cut and not digested, and a list of them has no
  // digests.
  std::span<const Sha256Engine> sha256 = Sha256Engines();
};

class ChunkStream {
 public:
  // `preset`: one of kChunkPresets.
  explicit ChunkStream(const ChunkPreset& preset, const ChunkEngines& engines = {});

  void Update(const uint8_t* bytes, size_t length);
  // Does what Update does with so many zeros, which need not be anywhere: none past the next cut is looked at.
  void UpdateZeros(uint64_t length);
  // Takes bytes up to the next cut. Returns how many; `is_cut` says whether a chunk ended after the last of them.
  size_t UpdateToCut(const uint8_t* bytes, size_t length, bool* is_cut);

  // No byte has been taken since the last cut.
  bool IsAtCut() const { return chunker_.open_bytes() == 0; }
  // The chunks that have ended since they were asked for last.
  ChunkList TakeEnded();
  // The same with the last one, cut by the end of the stream, which starts anew.
  ChunkList Finish();

 private:
  void AddZeroChunk(const ZeroChunk& chunk);
  void AddToDigest(const uint8_t* bytes, size_t length);
  void EndChunk(size_t length);
  // At least kScanBytesMin, at most kScanBytesMax.
  void UpdateScanned(const uint8_t* bytes, size_t length);
  // Digests `length` bytes, in which chunks end at ends_.
  void DigestEnded(const uint8_t* bytes, size_t length);
  Sha256 NewDigest() const;
  // The first breakpoint in [first, last], positions of the scanned bytes; 0 when there is none.
  size_t FindBreakpoint(const uint8_t* bytes, size_t first, size_t last) const;
  // The same of the first preset, which every scan looks for.
  size_t FindScanned(size_t first, size_t last) const;

  const ChunkPreset& preset_;
  const ChunkEngines engines_;
  std::vector<uint64_t> breakpoints_;  // a bit for each byte of what was scanned last
  Chunker chunker_;
  Sha256 digest_;  // of the chunk that has not ended
  std::vector<size_t> ends_;
  std::vector<DigestPiece> pieces_;
  ChunkList chunks_;
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_CHUNK_STREAM_H_
