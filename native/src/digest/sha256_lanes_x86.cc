#include "sha256_lanes_x86.h"

#include <immintrin.h>

#include "sha256.h"
#include "sha256_constants.h"

#ifndef __clang__
// GCC 12 takes the operand that an intrinsic leaves undefined on purpose for a mistake of ours (its bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace runnel {

namespace {

#define RUNNEL_LANES_TARGET __attribute__((target("avx512f,avx512bw")))

constexpr size_t kBlockWords = 16;
// Truth tables of a ^ b ^ c, of "a ? b : c", and of what most of a, b and c are.
constexpr int kXor3 = 0x96;
constexpr int kChoice = 0xca;
constexpr int kMajority = 0xe8;

RUNNEL_LANES_TARGET inline __m512i Sigma0(__m512i word) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(word, 7), _mm512_ror_epi32(word, 18), _mm512_srli_epi32(word, 3),
                                   kXor3);
}
RUNNEL_LANES_TARGET inline __m512i Sigma1(__m512i word) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(word, 17), _mm512_ror_epi32(word, 19), _mm512_srli_epi32(word, 10),
                                   kXor3);
}
RUNNEL_LANES_TARGET inline __m512i Sum0(__m512i a) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(a, 2), _mm512_ror_epi32(a, 13), _mm512_ror_epi32(a, 22), kXor3);
}
RUNNEL_LANES_TARGET inline __m512i Sum1(__m512i e) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(e, 6), _mm512_ror_epi32(e, 11), _mm512_ror_epi32(e, 25), kXor3);
}

// words[i] gets word i of the block of each stream: 16 × 16 words transposed, first within quarters of 128 bits, then
// the quarters.
RUNNEL_LANES_TARGET inline void LoadWords(const uint8_t* const* blocks, size_t at, __m512i* words) {
  const __m512i big_endian = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
  __m512i rows[kSha256Lanes];
#pragma GCC unroll 4
  for (size_t group = 0; group < kSha256Lanes; group += 4) {
    __m512i four[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i)
      four[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[group + i] + at), big_endian);
    const __m512i low01 = _mm512_unpacklo_epi32(four[0], four[1]);
    const __m512i high01 = _mm512_unpackhi_epi32(four[0], four[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(four[2], four[3]);
    const __m512i high23 = _mm512_unpackhi_epi32(four[2], four[3]);
    rows[group] = _mm512_unpacklo_epi64(low01, low23);
    rows[group + 1] = _mm512_unpackhi_epi64(low01, low23);
    rows[group + 2] = _mm512_unpacklo_epi64(high01, high23);
    rows[group + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    const __m512i low01 = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0xee);
    const __m512i low23 = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0xee);
    words[i] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    words[4 + i] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    words[8 + i] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    words[12 + i] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
  }
}

}  // namespace

RUNNEL_LANES_TARGET void FoldSha256Lanes(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count) {
  __m512i state[kDigestWords];
  for (size_t i = 0; i < kDigestWords; ++i) state[i] = _mm512_loadu_si512(states + i * stride);
  for (size_t done = 0; done < count * kDigestBlockBytes; done += kDigestBlockBytes) {
    __m512i words[kBlockWords];
    LoadWords(blocks, done, words);
    // The names move instead of the values: a is now[0] before the first round, now[7] before the second.
    __m512i now[kDigestWords];
    for (size_t i = 0; i < kDigestWords; ++i) now[i] = state[i];
    for (size_t first = 0; first < kSha256Rounds.size(); first += kBlockWords) {
#pragma GCC unroll 16
      for (size_t i = 0; i < kBlockWords; ++i) {
        const auto at = [&](size_t name) -> __m512i& { return now[(name + kBlockWords - i) % kDigestWords]; };
        const __m512i constant = _mm512_set1_epi32(static_cast<int>(kSha256Rounds[first + i]));
        const __m512i sum1 = _mm512_add_epi32(_mm512_add_epi32(at(7), Sum1(at(4))),
                                              _mm512_ternarylogic_epi32(at(4), at(5), at(6), kChoice));
        const __m512i added = _mm512_add_epi32(sum1, _mm512_add_epi32(words[i], constant));
        at(3) = _mm512_add_epi32(at(3), added);
        at(7) = _mm512_add_epi32(_mm512_add_epi32(added, Sum0(at(0))),
                                 _mm512_ternarylogic_epi32(at(0), at(1), at(2), kMajority));
        if (first + kBlockWords == kSha256Rounds.size()) continue;
        // The word of 16 rounds later.
        const __m512i early = Sigma0(words[(i + 1) % kBlockWords]);
        const __m512i late = Sigma1(words[(i + 14) % kBlockWords]);
        words[i] =
            _mm512_add_epi32(_mm512_add_epi32(words[i], early), _mm512_add_epi32(words[(i + 9) % kBlockWords], late));
      }
    }
    for (size_t i = 0; i < kDigestWords; ++i) state[i] = _mm512_add_epi32(state[i], now[i]);
  }
  for (size_t i = 0; i < kDigestWords; ++i) _mm512_storeu_si512(states + i * stride, state[i]);
}

#undef RUNNEL_LANES_TARGET

bool HasSha256Lanes() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

}  // namespace runnel
