// SHA-256 of many pieces at once by every engine, against one stream in plain C++, and that against the standard's
// example.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "bytes.h"
#include "engines.h"
#include "src/digest/sha256_batch.h"

namespace runnel {
namespace {

const Sha256Engine& Portable() { return Sha256Engines().back(); }

Digest DigestOf(const std::vector<uint8_t>& bytes) {
  Sha256 digest(Portable());
  digest.Update(bytes.data(), bytes.size());
  return digest.Finish();
}

TEST_CASE("plain C++ digests the example of FIPS 180-4") {
  const Digest expected = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                           0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                           0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
  CHECK(DigestOf({'a', 'b', 'c'}) == expected);
}

TEST_CASE("every engine digests pieces of any sizes, in batches of any size, some of which go on") {
  for (const Sha256Engine& engine : Sha256Engines()) {
    CAPTURE(engine.name);
    Choices choices(3);
    for (size_t count = 1; count <= 40; ++count) {
      // Memory of exactly its length each: a byte read past it is noticed.
      std::vector<std::vector<uint8_t>> contents;
      std::vector<size_t> splits;
      std::vector<DigestPiece> pieces;
      for (size_t i = 0; i < count; ++i) {
        contents.push_back(choices.Bytes(choices.Below(i % 3 == 0 ? 9'000 : 200)));
        splits.push_back(i % 2 == 0 ? contents[i].size() : choices.Below(contents[i].size()));
        pieces.push_back({Sha256(), contents[i].data(), splits[i], i % 2 == 0});
      }
      DigestAll(pieces, {&engine, 1});
      for (size_t i = 1; i < count; i += 2) {
        pieces[i] = {pieces[i].stream, contents[i].data() + splits[i], contents[i].size() - splits[i], true};
      }
      // Streams that ended before have started anew.
      for (size_t i = 0; i < count; i += 2)
        pieces[i] = {pieces[i].stream, contents[i].data(), contents[i].size(), true};
      DigestAll(pieces, {&engine, 1});
      for (size_t i = 0; i < count; ++i) CHECK(pieces[i].digest == DigestOf(contents[i]));
    }
  }
}

TEST_CASE("SHA-256 has the engines of this processor") {
  const std::string names = NamesOf(Sha256Engines());
  CHECK(names == ExpectedEngines("RUNNEL_DIGEST_ENGINES", names));
}

}  // namespace
}  // namespace runnel
