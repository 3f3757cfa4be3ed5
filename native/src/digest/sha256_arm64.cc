// SHA-256 with the instructions of ARMv8 (Arm ARM, FEAT_SHA256: SHA256H, SHA256H2, SHA256SU0, SHA256SU1): one stream,
// and two side by side, since the result of one instruction takes longer than the next one takes to begin.
//
// The state is two registers, {a, b, c, d} and {e, f, g, h} from the low lane up; SHA256H and SHA256H2 return what
// either is four rounds later.
#include <arm_neon.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "sha256.h"
#include "sha256_constants.h"

namespace runnel {

namespace {

#if defined(__clang__)
#define RUNNEL_SHA_TARGET __attribute__((target("sha2")))
#else
#define RUNNEL_SHA_TARGET __attribute__((target("+crypto")))
#endif

RUNNEL_SHA_TARGET inline uint32x4_t LoadWords(const uint8_t* from) {
  return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(from)));
}

// Words `first` … `first` + 3 of the state in column 0.
RUNNEL_SHA_TARGET inline uint32x4_t LoadState(const uint32_t* states, size_t stride, size_t first) {
  const uint32_t words[4] = {states[first * stride], states[(first + 1) * stride], states[(first + 2) * stride],
                             states[(first + 3) * stride]};
  return vld1q_u32(words);
}

RUNNEL_SHA_TARGET inline void StoreState(uint32x4_t from, uint32_t* states, size_t stride, size_t first) {
  uint32_t words[4];
  vst1q_u32(words, from);
  for (size_t i = 0; i < 4; ++i) states[(first + i) * stride] = words[i];
}

template <size_t kStreams>
RUNNEL_SHA_TARGET void FoldStreams(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count) {
  uint32x4_t abcd[kStreams], efgh[kStreams];
  for (size_t i = 0; i < kStreams; ++i) {
    abcd[i] = LoadState(states + i, stride, 0);
    efgh[i] = LoadState(states + i, stride, 4);
  }
  for (size_t done = 0; done < count * kDigestBlockBytes; done += kDigestBlockBytes) {
    uint32x4_t abcd_before[kStreams], efgh_before[kStreams], words[kStreams][4];
#pragma GCC unroll 2
    for (size_t i = 0; i < kStreams; ++i) {
      abcd_before[i] = abcd[i];
      efgh_before[i] = efgh[i];
#pragma GCC unroll 4
      for (int at = 0; at < 4; ++at) words[i][at] = LoadWords(blocks[i] + done + 16 * at);
    }
#pragma GCC unroll 16
    for (int step = 0; step < 16; ++step) {
      const uint32x4_t rounds = vld1q_u32(kSha256Rounds.data() + 4 * step);
#pragma GCC unroll 2
      for (size_t i = 0; i < kStreams; ++i) {
        uint32x4_t* of_stream = words[i];
        const uint32x4_t input = vaddq_u32(of_stream[step % 4], rounds);
        if (step < 12) {
          of_stream[step % 4] = vsha256su1q_u32(vsha256su0q_u32(of_stream[step % 4], of_stream[(step + 1) % 4]),
                                                of_stream[(step + 2) % 4], of_stream[(step + 3) % 4]);
        }
        const uint32x4_t abcd_now = abcd[i];
        abcd[i] = vsha256hq_u32(abcd_now, efgh[i], input);
        efgh[i] = vsha256h2q_u32(efgh[i], abcd_now, input);
      }
    }
#pragma GCC unroll 2
    for (size_t i = 0; i < kStreams; ++i) {
      abcd[i] = vaddq_u32(abcd[i], abcd_before[i]);
      efgh[i] = vaddq_u32(efgh[i], efgh_before[i]);
    }
  }
  for (size_t i = 0; i < kStreams; ++i) {
    StoreState(abcd[i], states + i, stride, 0);
    StoreState(efgh[i], states + i, stride, 4);
  }
}

#undef RUNNEL_SHA_TARGET

// Every Mac with an ARM processor has them.
bool HasShaInstructions() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
#else
  return true;
#endif
}

}  // namespace

std::vector<Sha256Engine> Sha256Instructions() {
  if (!HasShaInstructions()) return {};
  return {{"interleaved", 2, 2, &FoldStreams<2>}, {"instructions", 1, 1, &FoldStreams<1>}};
}

}  // namespace runnel
