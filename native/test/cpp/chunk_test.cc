// Cutting at any split, and cutting anew around edits, against cutting the whole with the plain roll.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "bytes.h"
#include "engines.h"
#include "src/chunk/chunk_stream.h"
#include "src/chunk/rechunk.h"

namespace runnel {
namespace {

ChunkList Cut(const std::vector<uint8_t>& bytes, const ChunkPreset& preset) {
  ChunkStream stream(preset, {.scan = nullptr});
  stream.Update(bytes.data(), bytes.size());
  return stream.Finish();
}

// Counts the zeros from there on, at most `most`.
size_t ZerosFrom(const std::vector<uint8_t>& bytes, size_t at, size_t most) {
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
  const auto last = first + static_cast<ptrdiff_t>(std::min(most, bytes.size() - at));
  return static_cast<size_t>(std::find_if(first, last, [](uint8_t byte) { return byte != 0; }) - first);
}

TEST_CASE("any split is cut as the whole is by the plain roll, by every engine") {
  for (const ScanEngine& engine : ScanEngines()) {
    CAPTURE(engine.name);
    Choices choices(1);
    for (int round = 0; round < 20; ++round) {
      const ChunkPreset& preset = kChunkPresets[choices.Below(kChunkPresetCount - 1)];
      // Memory of exactly this length: a byte read past it is noticed.
      const std::vector<uint8_t> bytes = choices.MixedBytes(choices.Below(400'000));
      ChunkStream stream(preset, {.scan = engine.scan});
      for (size_t at = 0; at < bytes.size();) {
        const size_t zeros = ZerosFrom(bytes, at, 1 + choices.Below(300'000));
        if (zeros != 0 && choices.Below(1) == 0) {
          stream.UpdateZeros(zeros);
          at += zeros;
          continue;
        }
        const size_t length = std::min(bytes.size() - at, 1 + choices.Below(round % 2 == 0 ? 100'000 : 9'000));
        const std::vector<uint8_t> piece(bytes.begin() + static_cast<ptrdiff_t>(at),
                                         bytes.begin() + static_cast<ptrdiff_t>(at + length));
        stream.Update(piece.data(), piece.size());
        at += length;
      }
      const ChunkList expected = Cut(bytes, preset);
      const ChunkList found = stream.Finish();
      CHECK(found.lengths == expected.lengths);
      CHECK(found.digests == expected.digests);
    }
  }
}

TEST_CASE("every engine finds a breakpoint at every other place") {
  std::vector<uint8_t> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 2 == 0 ? 0xf1 : 0x10;
  for (const ScanEngine& engine : ScanEngines()) {
    CAPTURE(engine.name);
    ChunkStream stream(kChunkPresets[0], {.scan = engine.scan});
    stream.Update(bytes.data(), bytes.size());
    const ChunkList found = stream.Finish();
    CHECK(found.lengths.size() == 49);
    CHECK(std::count(found.lengths.begin(), found.lengths.end(), 2048) == 48);
  }
}

TEST_CASE("the chunker has the engines of this processor") {
  const std::string names = NamesOf(ScanEngines());
  CHECK(names == ExpectedEngines("RUNNEL_CHUNK_ENGINES", names));
}

TEST_CASE("cutting anew around edits finds what cutting the whole finds") {
  Choices choices(2);
  for (int round = 0; round < 40; ++round) {
    const ChunkPreset& preset = kChunkPresets[0];
    std::vector<uint8_t> bytes = choices.MixedBytes(choices.Below(200'000));
    const ChunkList base = Cut(bytes, preset);
    bytes.resize(choices.Below(220'000));
    std::vector<ContentRange> dirty;
    for (size_t edit = choices.Below(5); edit > 0 && !bytes.empty(); --edit) {
      const size_t offset = choices.Below(bytes.size() - 1);
      const std::vector<uint8_t> fresh = choices.Bytes(std::min(bytes.size() - offset, 1 + choices.Below(5000)));
      std::copy(fresh.begin(), fresh.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
      dirty.push_back({offset, fresh.size()});
    }
    Rechunk rechunk(preset, base.lengths, dirty, bytes.size());
    for (ContentRange range; rechunk.Next(&range);) {
      if (choices.Below(1) == 0 && rechunk.TakeZeros(ZerosFrom(bytes, range.offset, bytes.size())) != 0) continue;
      rechunk.Take(bytes.data() + range.offset, range.length);
    }
    const RechunkResult result = rechunk.Finish();
    ChunkList found;
    size_t next = 0;
    for (const RecipeSpan& span : result.spans) {
      for (size_t i = 0; i < span.kept; ++i) {
        found.lengths.push_back(base.lengths.at(span.first + i));
        found.digests.push_back(base.digests.at(span.first + i));
      }
      for (size_t i = 0; i < span.fresh; ++i, ++next) {
        found.lengths.push_back(result.fresh.lengths.at(next));
        found.digests.push_back(result.fresh.digests.at(next));
      }
    }
    const ChunkList expected = Cut(bytes, preset);
    CHECK(found.lengths == expected.lengths);
    CHECK(found.digests == expected.digests);
  }
}

}  // namespace
}  // namespace runnel
