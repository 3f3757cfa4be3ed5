#include "src/chunk/zero_chunk.h"

#include <cstring>
#include <vector>

#include "src/chunk/chunker.h"

namespace runnel {

namespace {

ZeroChunk CutZeros() {
  const std::vector<uint8_t> zeros(kChunkBytesMax);
  bool is_cut = false;
  const size_t length = Chunker().Next(zeros.data(), zeros.size(), &is_cut);
  Sha256 digest;
  digest.Update(zeros.data(), length);
  return {length, digest.Finish()};
}

}  // namespace

const ZeroChunk& TheZeroChunk() {
  static const ZeroChunk zero_chunk = CutZeros();
  return zero_chunk;
}

bool BeginsWithZeroChunk(const uint8_t* bytes, size_t length) {
  const size_t wanted = TheZeroChunk().length;
  // Every byte equals the next one, and the first is zero.
  return length >= wanted && bytes[0] == 0 && std::memcmp(bytes, bytes + 1, wanted - 1) == 0;
}

}  // namespace runnel
