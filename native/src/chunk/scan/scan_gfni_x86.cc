// 64 lanes with AVX-512 and GFNI: GF2P8AFFINEQB multiplies each of 64 bytes by an 8×8 bit matrix.
#include <immintrin.h>

#include <array>

#include "breakpoint_scan.h"
#include "byte_planes.h"
#include "scans_x86.h"

#ifndef __clang__
// GCC 12 takes the operand that an intrinsic leaves undefined on purpose for a mistake of ours (its bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,gfni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,gfni")
#endif

#include "lane_scan.h"

namespace runnel {

namespace {

constexpr std::array<uint64_t, kPlanes> MakeMatrices(uint8_t (*plane_of)(size_t, uint8_t)) {
  std::array<uint64_t, kPlanes> matrices{};
  for (size_t plane = 0; plane < kPlanes; ++plane) {
    matrices[plane] = MatrixOf([=](uint8_t byte) { return plane_of(plane, byte); });
  }
  return matrices;
}

constexpr std::array<uint64_t, kPlanes> kReduce = MakeMatrices(&ReducePlane);
constexpr std::array<uint64_t, kPlanes> kLeave = MakeMatrices(&LeavePlane);
// A byte that comes in is shifted by one: its highest bit is the lowest of the second plane.
constexpr uint64_t kHighestBit = MatrixOf([](uint8_t byte) { return static_cast<uint8_t>(byte >> 7); });
// Truth table of a ^ b ^ c.
constexpr int kXor3 = 0x96;

struct Gfni {
  static constexpr size_t kLanes = 64;
  using Vector = __m512i;
  struct State {
    Vector planes[kPlanes];
  };

  static inline Vector Times(Vector bytes, uint64_t matrix) {
    return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(static_cast<int64_t>(matrix)), 0);
  }

  static inline void Roll(State& state, Vector in, Vector out) {
    const Vector pushed_out = state.planes[kPlanes - 1];
#pragma GCC unroll 8
    for (size_t plane = kPlanes - 1; plane > 1; --plane) {
      state.planes[plane] = _mm512_ternarylogic_epi64(state.planes[plane - 1], Times(pushed_out, kReduce[plane]),
                                                      Times(out, kLeave[plane]), kXor3);
    }
    state.planes[1] = _mm512_xor_si512(
        state.planes[0],
        _mm512_ternarylogic_epi64(Times(pushed_out, kReduce[1]), Times(out, kLeave[1]), Times(in, kHighestBit), kXor3));
    state.planes[0] =
        _mm512_ternarylogic_epi64(Times(pushed_out, kReduce[0]), Times(out, kLeave[0]), _mm512_add_epi8(in, in), kXor3);
  }

  static inline uint64_t Breakpoints(const State& state) {
    const __mmask64 plane0 =
        _mm512_cmpeq_epi8_mask(state.planes[0], _mm512_set1_epi8(static_cast<char>(kBreakpointPlane0)));
    return _mm512_mask_testn_epi8_mask(plane0, state.planes[1], _mm512_set1_epi8(kBreakpointMask1));
  }

  // Interleaving rows i and i + 8 four times transposes the 16 × 16 bytes of each quarter; then the quarters change
  // places.
  static inline void Load(const uint8_t* const* lanes, size_t at, Vector* to) {
    constexpr size_t kRows = 16;
    Vector groups[kLanes / kRows][kRows];
    for (size_t group = 0; group < kLanes / kRows; ++group) {
      Vector rows[kRows];
      for (size_t i = 0; i < kRows; ++i) rows[i] = _mm512_loadu_si512(lanes[group * kRows + i] + at);
#pragma GCC unroll 4
      for (int round = 0; round < 4; ++round) {
        Vector mixed[kRows];
#pragma GCC unroll 8
        for (size_t i = 0; i < kRows / 2; ++i) {
          mixed[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + kRows / 2]);
          mixed[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + kRows / 2]);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < kRows; ++i) rows[i] = mixed[i];
      }
#pragma GCC unroll 16
      for (size_t i = 0; i < kRows; ++i) groups[group][i] = rows[i];
    }
    for (size_t i = 0; i < kRows; ++i) {
      const Vector low01 = _mm512_shuffle_i64x2(groups[0][i], groups[1][i], 0x44);
      const Vector high01 = _mm512_shuffle_i64x2(groups[0][i], groups[1][i], 0xee);
      const Vector low23 = _mm512_shuffle_i64x2(groups[2][i], groups[3][i], 0x44);
      const Vector high23 = _mm512_shuffle_i64x2(groups[2][i], groups[3][i], 0xee);
      to[i] = _mm512_shuffle_i64x2(low01, low23, 0x88);
      to[kRows + i] = _mm512_shuffle_i64x2(low01, low23, 0xdd);
      to[2 * kRows + i] = _mm512_shuffle_i64x2(high01, high23, 0x88);
      to[3 * kRows + i] = _mm512_shuffle_i64x2(high01, high23, 0xdd);
    }
  }
};

}  // namespace

void ScanGfni(const uint8_t* bytes, size_t length, uint64_t* bits) { ScanLanes<Gfni>(bytes, length, bits); }

}  // namespace runnel

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace runnel {

bool HasGfni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("gfni");
}

}  // namespace runnel
