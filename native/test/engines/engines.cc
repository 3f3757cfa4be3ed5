// Runs every engine of the chunker and of SHA-256 that this processor has over a file, and holds them to the plain roll and to
// one stream in plain C++. A program without Node, so that engines of other processors can be tried under an emulator.
//
//     engines FILE
//
// prints the names of the engines, then for each preset the lengths of the file's chunks and the digest of their digests; ends
// with 1 and a sentence on stderr when two engines differ.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/chunk/chunk_stream.h"
#include "src/digest/sha256_batch.h"

namespace {

using runnel::BreakpointScan;
using runnel::ChunkEngines;
using runnel::ChunkList;
using runnel::ChunkPreset;
using runnel::ChunkStream;
using runnel::DigestPiece;
using runnel::Sha256;
using runnel::Sha256Engine;

constexpr int kSplits = 12;
constexpr size_t kPiecesMax = 40;

// Numerical Recipes' generator: any numbers will do, the same ones on every processor.
class Numbers {
 public:
  size_t Below(size_t end) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<size_t>(state_ >> 8) % end;
  }

 private:
  uint32_t state_ = 1;
};

using Content = std::vector<uint8_t>;

const Sha256Engine& Portable() { return runnel::Sha256Engines().back(); }

// Steps of the first half are small, those of the other large enough for many lanes.
ChunkList Cut(const Content& content, const ChunkPreset& preset, const ChunkEngines& engines, int split, Numbers* numbers) {
  ChunkStream stream(preset, engines);
  const size_t step_max = split == 0 ? content.size() : size_t{1000} << split;
  for (size_t at = 0; at < content.size();) {
    const size_t step = std::min(content.size() - at, split == 0 ? content.size() : 1 + numbers->Below(step_max));
    stream.Update(content.data() + at, step);
    at += step;
  }
  return stream.Finish();
}

bool CutsAlike(const Content& content, const ChunkPreset& preset, const char* name, const ChunkEngines& engines,
               const ChunkList& wanted, Numbers* numbers) {
  for (int split = 0; split < kSplits; ++split) {
    const ChunkList chunks = Cut(content, preset, engines, split, numbers);
    if (chunks.lengths == wanted.lengths && chunks.digests == wanted.digests) continue;
    std::fprintf(stderr, "%s differs, split %d, chunks of at least %zu bytes\n", name, split, preset.bytes_min);
    return false;
  }
  return true;
}

// Pieces of all sizes, in batches of all sizes.
bool DigestsAlike(const Content& content, const Sha256Engine& engine, Numbers* numbers) {
  for (size_t count = 1; count <= kPiecesMax; ++count) {
    std::vector<DigestPiece> pieces;
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = numbers->Below(content.size());
      const size_t length = numbers->Below(std::min<size_t>(content.size() - begin, i % 3 == 0 ? 200 : 20'000) + 1);
      pieces.push_back({Sha256(Portable()), content.data() + begin, length, true});
    }
    std::vector<DigestPiece> wanted = pieces;
    runnel::DigestAll(pieces, {&engine, 1});
    runnel::DigestAll(wanted, {&Portable(), 1});
    for (size_t i = 0; i < count; ++i) {
      if (pieces[i].digest == wanted[i].digest) continue;
      std::fprintf(stderr, "%s differs for %zu bytes among %zu pieces\n", engine.name, wanted[i].length, count);
      return false;
    }
  }
  return true;
}

void Print(const ChunkList& chunks) {
  Sha256 digest;
  for (const uint32_t length : chunks.lengths) std::printf("%u ", length);
  for (const runnel::Digest& one : chunks.digests) digest.Update(one.data(), one.size());
  for (const uint8_t byte : digest.Finish()) std::printf("%02x", byte);
  std::printf("\n");
}

bool Run(const Content& content) {
  Numbers numbers;
  for (const runnel::ScanEngine& engine : runnel::ScanEngines()) std::printf("%s ", engine.name);
  std::printf("\n");
  for (const Sha256Engine& engine : runnel::Sha256Engines()) std::printf("%s ", engine.name);
  std::printf("\n");
  for (const ChunkPreset& preset : runnel::kChunkPresets) {
    const ChunkList wanted = Cut(content, preset, {nullptr, {&Portable(), 1}}, 0, &numbers);
    for (const runnel::ScanEngine& engine : runnel::ScanEngines()) {
      if (!CutsAlike(content, preset, engine.name, {engine.scan, runnel::Sha256Engines()}, wanted, &numbers)) return false;
    }
    Print(wanted);
  }
  for (const Sha256Engine& engine : runnel::Sha256Engines()) {
    if (!DigestsAlike(content, engine, &numbers)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const Content content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return !content.empty() && Run(content) ? 0 : 1;
}
