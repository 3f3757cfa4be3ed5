// 32 lanes with AVX2: a matrix times a byte is two shuffles, each looking half of the byte up in a table of 16.
#include <immintrin.h>

#include <array>

#include "breakpoint_scan.h"
#include "byte_planes.h"
#include "scans_x86.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include "lane_scan.h"

namespace runnel {

namespace {

alignas(16) constexpr std::array<HalfTables, kPlanes> kReduce = HalfTablesOfPlanes(&ReducePlane);
alignas(16) constexpr std::array<HalfTables, kPlanes> kLeave = HalfTablesOfPlanes(&LeavePlane);

struct Avx2 {
  static constexpr size_t kLanes = 32;
  using Vector = __m256i;
  struct State {
    Vector planes[kPlanes];
  };
  struct Halves {
    explicit Halves(Vector bytes)
        : low(_mm256_and_si256(bytes, _mm256_set1_epi8(0x0f))),
          high(_mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f))) {}
    Vector low;
    Vector high;
  };

  static inline Vector LookUp(const std::array<uint8_t, 16>& table, Vector halves) {
    const __m128i entries = _mm_load_si128(reinterpret_cast<const __m128i*>(table.data()));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), halves);
  }

  static inline Vector Times(const Halves& bytes, const HalfTables& tables) {
    return _mm256_xor_si256(LookUp(tables.low, bytes.low), LookUp(tables.high, bytes.high));
  }

  static inline void Roll(State& state, Vector in, Vector out) {
    const Halves pushed_out(state.planes[kPlanes - 1]);
    const Halves leaving(out);
#pragma GCC unroll 8
    for (size_t plane = kPlanes - 1; plane > 0; --plane) {
      state.planes[plane] = _mm256_xor_si256(
          state.planes[plane - 1], _mm256_xor_si256(Times(pushed_out, kReduce[plane]), Times(leaving, kLeave[plane])));
    }
    const Vector highest_bit = _mm256_and_si256(_mm256_srli_epi16(in, 7), _mm256_set1_epi8(1));
    state.planes[1] = _mm256_xor_si256(state.planes[1], highest_bit);
    state.planes[0] = _mm256_xor_si256(_mm256_add_epi8(in, in),
                                       _mm256_xor_si256(Times(pushed_out, kReduce[0]), Times(leaving, kLeave[0])));
  }

  static inline uint64_t Breakpoints(const State& state) {
    const Vector plane0 = _mm256_cmpeq_epi8(state.planes[0], _mm256_set1_epi8(static_cast<char>(kBreakpointPlane0)));
    const Vector masked = _mm256_and_si256(state.planes[1], _mm256_set1_epi8(kBreakpointMask1));
    const Vector plane1 = _mm256_cmpeq_epi8(masked, _mm256_setzero_si256());
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_and_si256(plane0, plane1)));
  }

  // Interleaving rows i and i + 8 four times transposes the 16 × 16 bytes of each half; then the halves change places.
  static inline void Load(const uint8_t* const* lanes, size_t at, Vector* to) {
    constexpr size_t kRows = 16;
    Vector groups[kLanes / kRows][kRows];
    for (size_t group = 0; group < kLanes / kRows; ++group) {
      Vector rows[kRows];
      for (size_t i = 0; i < kRows; ++i) {
        rows[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes[group * kRows + i] + at));
      }
#pragma GCC unroll 4
      for (int round = 0; round < 4; ++round) {
        Vector mixed[kRows];
#pragma GCC unroll 8
        for (size_t i = 0; i < kRows / 2; ++i) {
          mixed[2 * i] = _mm256_unpacklo_epi8(rows[i], rows[i + kRows / 2]);
          mixed[2 * i + 1] = _mm256_unpackhi_epi8(rows[i], rows[i + kRows / 2]);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < kRows; ++i) rows[i] = mixed[i];
      }
#pragma GCC unroll 16
      for (size_t i = 0; i < kRows; ++i) groups[group][i] = rows[i];
    }
    for (size_t i = 0; i < kRows; ++i) {
      to[i] = _mm256_permute2x128_si256(groups[0][i], groups[1][i], 0x20);
      to[kRows + i] = _mm256_permute2x128_si256(groups[0][i], groups[1][i], 0x31);
    }
  }
};

}  // namespace

void ScanAvx2(const uint8_t* bytes, size_t length, uint64_t* bits) { ScanLanes<Avx2>(bytes, length, bits); }

}  // namespace runnel

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace runnel {

bool HasAvx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}

}  // namespace runnel
