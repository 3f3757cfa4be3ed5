// Any content, edited anywhere, and often just where a chunk ends: the recipe that is found by cutting around the edits
// is that of the whole.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/chunk/rechunk.h"

namespace {

constexpr size_t kEditsMax = 12;
constexpr uint32_t kZeroSeeds = 100;

void Must(bool is_so) {
  if (!is_so) std::abort();
}

runnel::ChunkList Cut(const std::vector<uint8_t>& bytes, const runnel::ChunkPreset& preset) {
  runnel::ChunkStream stream(preset);
  stream.Update(bytes.data(), bytes.size());
  return stream.Finish();
}

// End of the chunk with this byte; the byte itself behind the last chunk.
size_t NextCut(const runnel::ChunkList& chunks, size_t offset) {
  size_t end = 0;
  for (const uint32_t length : chunks.lengths) {
    end += length;
    if (end > offset) return end;
  }
  return offset;
}

// A content that is the same for the same seed: zeros, in which every chunk is as long as one may be and a cut outlives
// an edit in front of it, or bytes that differ everywhere (xorshift).
std::vector<uint8_t> Content(uint32_t seed, size_t length) {
  std::vector<uint8_t> bytes(length);
  if (seed < kZeroSeeds) return bytes;
  uint32_t state = seed | 1;
  for (uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<uint8_t>(state);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 6) return 0;
  const runnel::ChunkPreset& preset = runnel::kChunkPresets[data[0] % 16 == 1 ? 1 : 0];
  std::vector<uint8_t> bytes = Content(data[1], (data[2] << 8 | data[3]) * size_t{3});
  const runnel::ChunkList base = Cut(bytes, preset);
  if (data[4] % 2 == 1) bytes.resize((data[4] << 8 | data[5]) * size_t{3});
  std::vector<runnel::ContentRange> dirty;
  for (size_t at = 6; at + 6 <= size && dirty.size() < kEditsMax && !bytes.empty(); at += 6) {
    size_t offset = (data[at] << 16 | data[at + 1] << 8 | data[at + 2]) % bytes.size();
    size_t length = std::min<size_t>(bytes.size() - offset, data[at + 3] << 8 | data[at + 4]);
    if (data[at + 5] % 4 == 0) {
      const size_t end = std::min(bytes.size(), NextCut(base, offset) + data[at + 3] % 3);
      offset = end - std::min<size_t>(end, data[at + 4] + 1);
      length = end - offset;
    }
    const std::vector<uint8_t> fresh = Content(data[at + 5], length);
    std::copy(fresh.begin(), fresh.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
    dirty.push_back({offset, length});
  }
  runnel::Rechunk rechunk(preset, base.lengths, dirty, bytes.size());
  for (runnel::ContentRange range; rechunk.Next(&range);) {
    Must(range.offset + range.length <= bytes.size());
    const std::vector<uint8_t> read(bytes.begin() + static_cast<ptrdiff_t>(range.offset),
                                    bytes.begin() + static_cast<ptrdiff_t>(range.offset + range.length));
    rechunk.Take(read.data(), read.size());
  }
  const runnel::RechunkResult result = rechunk.Finish();
  const runnel::ChunkList whole = Cut(bytes, preset);
  size_t chunk = 0;
  size_t fresh = 0;
  const auto expect = [&](uint32_t length, const runnel::Digest& digest) {
    Must(chunk < whole.lengths.size() && whole.lengths[chunk] == length && whole.digests[chunk] == digest);
    ++chunk;
  };
  for (const runnel::RecipeSpan& span : result.spans) {
    for (size_t i = 0; i < span.kept; ++i) expect(base.lengths.at(span.first + i), base.digests.at(span.first + i));
    for (size_t i = 0; i < span.fresh; ++i, ++fresh)
      expect(result.fresh.lengths.at(fresh), result.fresh.digests.at(fresh));
  }
  Must(chunk == whole.lengths.size());
  return 0;
}
