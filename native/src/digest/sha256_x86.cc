// SHA-256 with the SHA extensions of x86 (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1, SHA256MSG2): one stream, and
// two side by side, since the result of one instruction takes longer than the next one takes to begin.
//
// SHA256RNDS2 keeps the state as two registers, from the high lane down: {a, b, e, f} and {c, d, g, h}. It does two
// rounds with the low two lanes of its third operand (words plus round constants) and returns the new {a, b, e, f}; the
// old one is the new {c, d, g, h}. Message words come four to a register, the first in the low lane.
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "sha256.h"
#include "sha256_constants.h"
#include "sha256_lanes_x86.h"

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

struct Halves {
  __m128i abef;
  __m128i cdgh;
};

// Loads the state of the stream in column 0.
RUNNEL_SHA_TARGET inline Halves LoadState(const uint32_t* states, size_t stride) {
  const auto word = [=](size_t at) { return static_cast<int>(states[at * stride]); };
  return {_mm_set_epi32(word(0), word(1), word(4), word(5)), _mm_set_epi32(word(2), word(3), word(6), word(7))};
}

RUNNEL_SHA_TARGET inline void StoreState(const Halves& halves, uint32_t* states, size_t stride) {
  uint32_t high[4], low[4];
  std::memcpy(high, &halves.abef, sizeof(high));
  std::memcpy(low, &halves.cdgh, sizeof(low));
  states[0] = high[3], states[stride] = high[2], states[4 * stride] = high[1], states[5 * stride] = high[0];
  states[2 * stride] = low[3], states[3 * stride] = low[2], states[6 * stride] = low[1], states[7 * stride] = low[0];
}

template <size_t kStreams>
RUNNEL_SHA_TARGET void FoldStreams(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count) {
  Halves now[kStreams];
  for (size_t i = 0; i < kStreams; ++i) now[i] = LoadState(states + i, stride);
  for (size_t done = 0; done < count * kDigestBlockBytes; done += kDigestBlockBytes) {
    Halves before[kStreams];
    __m128i words[kStreams][4];
#pragma GCC unroll 2
    for (size_t i = 0; i < kStreams; ++i) {
      before[i] = now[i];
#pragma GCC unroll 4
      for (int at = 0; at < 4; ++at) words[i][at] = LoadWords(blocks[i] + done + 16 * at);
    }
#pragma GCC unroll 16
    for (int step = 0; step < 16; ++step) {
      const __m128i rounds = _mm_load_si128(reinterpret_cast<const __m128i*>(kSha256Rounds.data() + 4 * step));
#pragma GCC unroll 2
      for (size_t i = 0; i < kStreams; ++i) {
        __m128i* of_stream = words[i];
        const __m128i four = of_stream[step % 4];
        const __m128i input = _mm_add_epi32(four, rounds);
        now[i].cdgh = _mm_sha256rnds2_epu32(now[i].cdgh, now[i].abef, input);
        now[i].abef = _mm_sha256rnds2_epu32(now[i].abef, now[i].cdgh, _mm_shuffle_epi32(input, 0x0e));
        if (step < 12) {
          of_stream[step % 4] =
              NextWords(four, of_stream[(step + 1) % 4], of_stream[(step + 2) % 4], of_stream[(step + 3) % 4]);
        }
      }
    }
#pragma GCC unroll 2
    for (size_t i = 0; i < kStreams; ++i) {
      now[i].abef = _mm_add_epi32(now[i].abef, before[i].abef);
      now[i].cdgh = _mm_add_epi32(now[i].cdgh, before[i].cdgh);
    }
  }
  for (size_t i = 0; i < kStreams; ++i) StoreState(now[i], states + i, stride);
}

#undef RUNNEL_SHA_TARGET

bool HasShaExtensions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((ecx & kLeaf1EcxSsse3) == 0 || (ecx & kLeaf1EcxSse41) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (ebx & kLeaf7EbxSha) != 0;
}

// The number of 16 lanes that must be used for them to do more than two streams of SHA instructions, or than one in
// plain C++.
constexpr size_t kLanesBesideSha = 10;
constexpr size_t kLanesBesidePortable = 2;

}  // namespace

std::vector<Sha256Engine> Sha256Instructions() {
  const bool has_sha = HasShaExtensions();
  std::vector<Sha256Engine> engines;
  if (HasSha256Lanes()) {
    engines.push_back({"lanes", kSha256Lanes, has_sha ? kLanesBesideSha : kLanesBesidePortable, &FoldSha256Lanes});
  }
  if (has_sha) {
    engines.push_back({"interleaved", 2, 2, &FoldStreams<2>});
    engines.push_back({"instructions", 1, 1, &FoldStreams<1>});
  }
  return engines;
}

}  // namespace runnel
