// SHA-256 with the SHA extensions of x86 (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1, SHA256MSG2).
//
// SHA256RNDS2 keeps the state as two registers, from the high lane down: {a, b, e, f} and {c, d, g, h}. It does two
// rounds with the low two lanes of its third operand (words plus round constants) and returns the new {a, b, e, f}; the
// old one is the new {c, d, g, h}. Message words come four to a register, the first in the low lane.
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "src/digest/sha256.h"
#include "src/digest/sha256_constants.h"

namespace runnel {

namespace {

#define RUNNEL_SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))

constexpr unsigned kLeaf1EcxSsse3 = 1u << 9;
constexpr unsigned kLeaf1EcxSse41 = 1u << 19;
constexpr unsigned kLeaf7EbxSha = 1u << 29;

RUNNEL_SHA_TARGET inline __m128i LoadWords(const uint8_t* from) {
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), big_endian);
}

// Words t … t+3 from the sixteen before them: w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16].
RUNNEL_SHA_TARGET inline __m128i NextWords(__m128i t16, __m128i t12, __m128i t8, __m128i t4) {
  const __m128i seven_back = _mm_alignr_epi8(t4, t8, 4);
  return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(t16, t12), seven_back), t4);
}

RUNNEL_SHA_TARGET void FoldBlocks(uint32_t state[8], const uint8_t* blocks, size_t count) {
  __m128i abef = _mm_set_epi32(static_cast<int>(state[0]), static_cast<int>(state[1]), static_cast<int>(state[4]),
                               static_cast<int>(state[5]));
  __m128i cdgh = _mm_set_epi32(static_cast<int>(state[2]), static_cast<int>(state[3]), static_cast<int>(state[6]),
                               static_cast<int>(state[7]));
  for (; count != 0; --count, blocks += kDigestBlockBytes) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; ++i) words[i] = LoadWords(blocks + 16 * i);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i now = words[i % 4];
      const __m128i rounds = _mm_load_si128(reinterpret_cast<const __m128i*>(kSha256Rounds.data() + 4 * i));
      const __m128i input = _mm_add_epi32(now, rounds);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, input);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(input, 0x0e));
      if (i < 12) words[i % 4] = NextWords(now, words[(i + 1) % 4], words[(i + 2) % 4], words[(i + 3) % 4]);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  uint32_t high[4], low[4];
  std::memcpy(high, &abef, sizeof(high));
  std::memcpy(low, &cdgh, sizeof(low));
  state[0] = high[3], state[1] = high[2], state[4] = high[1], state[5] = high[0];
  state[2] = low[3], state[3] = low[2], state[6] = low[1], state[7] = low[0];
}

#undef RUNNEL_SHA_TARGET

bool HasInstructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((ecx & kLeaf1EcxSsse3) == 0 || (ecx & kLeaf1EcxSse41) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (ebx & kLeaf7EbxSha) != 0;
}

}  // namespace

Sha256Engine Sha256Instructions() { return HasInstructions() ? &FoldBlocks : nullptr; }

}  // namespace runnel
