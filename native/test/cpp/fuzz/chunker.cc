// Any bytes, in any pieces: cut as the plain roll cuts the whole, within the bounds of the preset.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/chunk/chunk_stream.h"

using runnel::ChunkList;
using runnel::ChunkPreset;
using runnel::ChunkStream;

namespace {

void Must(bool is_so) {
  if (!is_so) std::abort();
}

// Inputs are short: each is repeated with a difference until vectors, and the longest chunk, have something to do.
std::vector<uint8_t> Stretch(const uint8_t* data, size_t size, size_t length) {
  std::vector<uint8_t> bytes;
  while (bytes.size() < length) {
    bytes.insert(bytes.end(), data, data + size);
    bytes.push_back(static_cast<uint8_t>(bytes.size() / (size + 1) % 7));
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const ChunkPreset& preset = runnel::kChunkPresets[data[0] % runnel::kChunkPresetCount];
  const size_t step = 1 + data[1] * size_t{97};
  const std::vector<uint8_t> bytes = Stretch(data + 3, size - 3, data[2] * size_t{1024});
  ChunkStream stream(preset);
  for (size_t at = 0; at < bytes.size(); at += step)
    stream.Update(bytes.data() + at, std::min(step, bytes.size() - at));
  const ChunkList found = stream.Finish();
  ChunkStream plain(preset, {.scan = nullptr});
  plain.Update(bytes.data(), bytes.size());
  const ChunkList expected = plain.Finish();
  Must(found.lengths == expected.lengths && found.digests == expected.digests);
  size_t sum = 0;
  for (size_t i = 0; i < found.lengths.size(); ++i) {
    sum += found.lengths[i];
    Must(found.lengths[i] <= preset.bytes_max);
    Must(i + 1 == found.lengths.size() || found.lengths[i] >= preset.bytes_min);
  }
  Must(sum == bytes.size());
  return 0;
}
