// Compressed runs: there and back, with and without a prefix, and bytes that are no run.
#include <doctest/doctest.h>

#include <vector>

#include "bytes.h"
#include "src/codec/zstd_codec.h"

namespace runnel {
namespace {

ByteView ViewOf(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

TEST_CASE("what was compressed comes back, with the prefix that it was compressed against") {
  Choices choices(3);
  for (int round = 0; round < 60; ++round) {
    const std::vector<uint8_t> prefix =
        round % 2 == 0 ? std::vector<uint8_t>() : choices.MixedBytes(choices.Below(60'000));
    std::vector<uint8_t> bytes = choices.MixedBytes(choices.Below(60'000));
    bytes.insert(bytes.end(), prefix.begin(), prefix.end());
    std::vector<uint8_t> packed;
    if (!Compress(ViewOf(bytes), ViewOf(prefix), 1 + static_cast<int>(choices.Below(8)), &packed)) continue;
    CHECK(packed.size() < bytes.size());
    CHECK(MayHoldRun(ViewOf(packed), bytes.size()));
    std::vector<uint8_t> unpacked(bytes.size());
    CHECK(Decompress(ViewOf(packed), ViewOf(prefix), unpacked.data(), unpacked.size()));
    CHECK(unpacked == bytes);
    // Cut off, and with a byte changed: refused or of another content, never past its memory.
    const std::vector<uint8_t> shorter(packed.begin(),
                                       packed.begin() + static_cast<ptrdiff_t>(choices.Below(packed.size() - 1)));
    CHECK(!Decompress(ViewOf(shorter), ViewOf(prefix), unpacked.data(), unpacked.size()));
    packed[choices.Below(packed.size() - 1)] ^= static_cast<uint8_t>(1 + choices.Below(254));
    (void)Decompress(ViewOf(packed), ViewOf(prefix), unpacked.data(), unpacked.size());
  }
}

TEST_CASE("a run of another size is refused before anything is written") {
  const std::vector<uint8_t> bytes(5000, 7);
  std::vector<uint8_t> packed;
  REQUIRE(Compress(ViewOf(bytes), {}, 3, &packed));
  CHECK(!MayHoldRun(ViewOf(packed), 4999));
  std::vector<uint8_t> small(4999, 1);
  CHECK(!Decompress(ViewOf(packed), {}, small.data(), small.size()));
}

}  // namespace
}  // namespace runnel
