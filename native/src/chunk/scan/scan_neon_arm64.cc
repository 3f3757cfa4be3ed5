// 16 lanes with NEON, which every 64-bit ARM processor has: a matrix times a byte is two table lookups, each of half of
// the byte in a table of 16.
#include <arm_neon.h>

#include <array>

#include "breakpoint_scan.h"
#include "byte_planes.h"
#include "lane_scan.h"

namespace runnel {

namespace {

alignas(16) constexpr std::array<HalfTables, kPlanes> kReduce = HalfTablesOfPlanes(&ReducePlane);
alignas(16) constexpr std::array<HalfTables, kPlanes> kLeave = HalfTablesOfPlanes(&LeavePlane);
alignas(16) constexpr std::array<uint8_t, 16> kLaneBits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

struct Neon {
  static constexpr size_t kLanes = 16;
  using Vector = uint8x16_t;
  struct State {
    Vector planes[kPlanes];
  };
  struct Halves {
    explicit Halves(Vector bytes) : low(vandq_u8(bytes, vdupq_n_u8(0x0f))), high(vshrq_n_u8(bytes, 4)) {}
    Vector low;
    Vector high;
  };

  static inline Vector Times(const Halves& bytes, const HalfTables& tables) {
    return veorq_u8(vqtbl1q_u8(vld1q_u8(tables.low.data()), bytes.low),
                    vqtbl1q_u8(vld1q_u8(tables.high.data()), bytes.high));
  }

  static inline void Roll(State& state, Vector in, Vector out) {
    const Halves pushed_out(state.planes[kPlanes - 1]);
    const Halves leaving(out);
#pragma GCC unroll 8
    for (size_t plane = kPlanes - 1; plane > 0; --plane) {
      state.planes[plane] =
          veorq_u8(state.planes[plane - 1], veorq_u8(Times(pushed_out, kReduce[plane]), Times(leaving, kLeave[plane])));
    }
    state.planes[1] = veorq_u8(state.planes[1], vshrq_n_u8(in, 7));
    state.planes[0] = veorq_u8(vaddq_u8(in, in), veorq_u8(Times(pushed_out, kReduce[0]), Times(leaving, kLeave[0])));
  }

  static inline uint64_t Breakpoints(const State& state) {
    const Vector plane0 = vceqq_u8(state.planes[0], vdupq_n_u8(kBreakpointPlane0));
    const Vector plane1 = vceqzq_u8(vandq_u8(state.planes[1], vdupq_n_u8(kBreakpointMask1)));
    const Vector found = vandq_u8(plane0, plane1);
    // Four bits of each lane are enough to see that there is none.
    if (vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0) == 0) return 0;
    const Vector bits = vandq_u8(found, vld1q_u8(kLaneBits.data()));
    return uint64_t{vaddv_u8(vget_low_u8(bits))} | uint64_t{vaddv_u8(vget_high_u8(bits))} << 8;
  }

  // Interleaving rows i and i + 8 four times transposes 16 × 16 bytes.
  static inline void Load(const uint8_t* const* lanes, size_t at, Vector* to) {
    Vector rows[kLanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) rows[i] = vld1q_u8(lanes[i] + at);
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      Vector mixed[kLanes];
#pragma GCC unroll 8
      for (size_t i = 0; i < kLanes / 2; ++i) {
        mixed[2 * i] = vzip1q_u8(rows[i], rows[i + kLanes / 2]);
        mixed[2 * i + 1] = vzip2q_u8(rows[i], rows[i + kLanes / 2]);
      }
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) rows[i] = mixed[i];
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) to[i] = rows[i];
  }
};

}  // namespace

std::vector<ScanEngine> VectorScans() {
  return {{"neon", [](const uint8_t* bytes, size_t length, uint64_t* bits) { ScanLanes<Neon>(bytes, length, bits); }}};
}

}  // namespace runnel
