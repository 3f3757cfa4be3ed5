// Cuts a stream and digests each chunk on the way: every byte is touched while it is in the processor's cache.
#ifndef RUNNEL_CHUNK_CHUNK_STREAM_H_
#define RUNNEL_CHUNK_CHUNK_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/chunk/breakpoint_scan.h"
#include "src/chunk/chunker.h"
#include "src/digest/sha256.h"

namespace runnel {

struct ChunkList {
  std::vector<uint32_t> lengths;
  std::vector<Digest> digests;
};

class ChunkStream {
 public:
  // `preset`: one of kChunkPresets. `scan`: how breakpoints of large inputs are found; nullptr for the plain roll alone.
  explicit ChunkStream(const ChunkPreset& preset, BreakpointScan scan = FastestScan())
      : preset_(preset), scan_(scan), chunker_(preset) {}

  void Update(const uint8_t* bytes, size_t length);
  // Takes bytes up to the next cut. Returns how many; `is_cut` says whether a chunk ended after the last of them.
  size_t UpdateToCut(const uint8_t* bytes, size_t length, bool* is_cut);

  // The chunks of the whole stream, the last one cut by its end. The stream starts anew.
  ChunkList Finish();

 private:
  void EndChunk(size_t length);
  // At least kScanBytesMin, at most kScanBytesMax.
  void UpdateScanned(const uint8_t* bytes, size_t length);
  // The first breakpoint in [first, last], positions of the scanned bytes; 0 when there is none.
  size_t FindBreakpoint(const uint8_t* bytes, size_t first, size_t last) const;
  // The same of the first preset, which every scan looks for.
  size_t FindScanned(size_t first, size_t last) const;

  const ChunkPreset& preset_;
  BreakpointScan scan_;
  std::vector<uint64_t> breakpoints_;  // a bit for each byte of what was scanned last
  Chunker chunker_;
  Sha256 digest_;
  ChunkList chunks_;
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_CHUNK_STREAM_H_
