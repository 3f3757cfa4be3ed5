// The Rabin fingerprint of many lanes at once, as byte planes: one vector for each byte of the state, one byte of it
// for each lane.
//
// The state is the fingerprint times x, not reduced: 64 bits whose highest byte is what the next shift pushes out. All
// that a step does is linear over GF(2) in single bytes: what reduces the byte pushed out, what the byte that leaves
// the window is worth, and the byte that comes in. So a step is some 8×8 bit matrices times bytes, and XORs.
#ifndef RUNNEL_CHUNK_SCAN_BYTE_PLANES_H_
#define RUNNEL_CHUNK_SCAN_BYTE_PLANES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/chunk/rabin.h"

namespace runnel {

inline constexpr size_t kPlanes = 8;

// A fingerprint says "cut" when these bits of the two lowest planes have this value.
inline constexpr uint8_t kBreakpointPlane0 = static_cast<uint8_t>(kBreakpointValue << 1);
inline constexpr uint8_t kBreakpointMask1 = static_cast<uint8_t>((kBreakpointMask << 1) >> 8);
static_assert(kBreakpointValue < 0x80 && kBreakpointMask == 0x1fff);

// Returns the bits of `plane` that the byte pushed out, or the byte that leaves, changes.
constexpr uint8_t ReducePlane(size_t plane, uint8_t byte) {
  return static_cast<uint8_t>((kRabinTables.reduce[byte] << 1) >> (8 * plane));
}
constexpr uint8_t LeavePlane(size_t plane, uint8_t byte) {
  return static_cast<uint8_t>((kRabinTables.leave[byte] << 1) >> (8 * plane));
}

// A matrix as GF2P8AFFINEQB takes it: byte 7 - i has, for each input bit, whether it changes output bit i.
template <typename Map>
constexpr uint64_t MatrixOf(Map map) {
  uint64_t matrix = 0;
  for (size_t in = 0; in < 8; ++in) {
    for (size_t out = 0; out < 8; ++out) {
      if ((map(static_cast<uint8_t>(1u << in)) >> out & 1) != 0) matrix |= uint64_t{1} << (8 * (7 - out) + in);
    }
  }
  return matrix;
}

// A map as two tables of 16, for the low and the high half of a byte.
struct HalfTables {
  std::array<uint8_t, 16> low;
  std::array<uint8_t, 16> high;
};

template <typename Map>
constexpr HalfTables HalfTablesOf(Map map) {
  HalfTables tables{};
  for (size_t half = 0; half < 16; ++half) {
    tables.low[half] = map(static_cast<uint8_t>(half));
    tables.high[half] = map(static_cast<uint8_t>(half << 4));
  }
  return tables;
}

constexpr std::array<HalfTables, kPlanes> HalfTablesOfPlanes(uint8_t (*plane_of)(size_t, uint8_t)) {
  std::array<HalfTables, kPlanes> tables{};
  for (size_t plane = 0; plane < kPlanes; ++plane) {
    tables[plane] = HalfTablesOf([=](uint8_t byte) { return plane_of(plane, byte); });
  }
  return tables;
}

}  // namespace runnel

#endif  // RUNNEL_CHUNK_SCAN_BYTE_PLANES_H_
