// SHA-256 in plain C++ (FIPS 180-4, section 6.2.2).
#include <array>
#include <bit>

#include "sha256.h"
#include "sha256_constants.h"

namespace runnel {

namespace {

uint32_t GetBigEndian(const uint8_t* from) {
  return uint32_t{from[0]} << 24 | uint32_t{from[1]} << 16 | uint32_t{from[2]} << 8 | uint32_t{from[3]};
}

std::array<uint32_t, 64> Schedule(const uint8_t* block) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) words[i] = GetBigEndian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t early = words[i - 15];
    const uint32_t late = words[i - 2];
    const uint32_t sigma0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3);
    const uint32_t sigma1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10);
    words[i] = words[i - 16] + sigma0 + words[i - 7] + sigma1;
  }
  return words;
}

void FoldBlock(uint32_t state[8], const uint8_t* block) {
  const std::array<uint32_t, 64> words = Schedule(block);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t first = h + sum1 + choice + kSha256Rounds[i] + words[i];
    const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + sum0 + majority;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

}  // namespace

void Sha256Portable(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count) {
  uint32_t state[kDigestWords];
  for (size_t word = 0; word < kDigestWords; ++word) state[word] = states[word * stride];
  for (size_t i = 0; i < count; ++i) FoldBlock(state, blocks[0] + i * kDigestBlockBytes);
  for (size_t word = 0; word < kDigestWords; ++word) states[word * stride] = state[word];
}

}  // namespace runnel
