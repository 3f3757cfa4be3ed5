// The Rabin fingerprint that decides where content may be cut, with LBFS's parameters (LBFS, SOSP 2001, section 3.1.1).
//
// Bits are coefficients over GF(2): in a byte and in a 64-bit word the most significant bit is the highest power. A
// window b[0] … b[47], oldest byte first, is the polynomial sum of b[i] * x^(8 * (47 - i)); its fingerprint is that
// polynomial modulo kPolynomial, a value below 2^63. Leading zero bytes add nothing, so a roll that starts from
// fingerprint 0 and 48 zero bytes has the fingerprint of the last 48 bytes as soon as it has seen 48.
#ifndef RUNNEL_CHUNK_RABIN_H_
#define RUNNEL_CHUNK_RABIN_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace runnel {

// Irreducible, of degree 63 (the coefficient of x^63 is written out). LBFS's FINGERPRINT_PT.
inline constexpr uint64_t kPolynomial = 0xbfe6b8a5bf378d83;
inline constexpr size_t kWindowBytes = 48;
// A fingerprint says "cut" when its low 13 bits have this value: on random data once in 8 KiB. Of larger chunks more
// bits count (chunk_preset.h).
inline constexpr uint64_t kBreakpointMask = (1 << 13) - 1;
inline constexpr uint64_t kBreakpointValue = 0x78;

constexpr bool IsBreakpoint(uint64_t fingerprint) { return (fingerprint & kBreakpointMask) == kBreakpointValue; }

// `value` * x modulo kPolynomial, for a value of degree below 63.
constexpr uint64_t TimesX(uint64_t value) {
  const uint64_t shifted = value << 1;
  return (shifted >> 63) != 0 ? shifted ^ kPolynomial : shifted;
}

struct RabinTables {
  // Reduces the 8 bits that a shift by one byte pushes to x^63 and above. The lowest of the 8 is still in the word as
  // bit 63, and this takes it out too.
  std::array<uint64_t, 256> reduce;
  // The worth of a byte once 48 more have followed it: b * x^(8 * 48) modulo kPolynomial.
  std::array<uint64_t, 256> leave;
};

constexpr RabinTables MakeRabinTables() {
  RabinTables tables{};
  uint64_t reduce_power = kPolynomial ^ (uint64_t{1} << 63);  // x^63
  uint64_t leave_power = 1;
  for (size_t i = 0; i < 8 * kWindowBytes; ++i) leave_power = TimesX(leave_power);
  for (size_t bit = 1; bit < 256; bit <<= 1) {
    for (size_t low = 0; low < bit; ++low) {
      tables.reduce[bit + low] = tables.reduce[low] ^ reduce_power;
      tables.leave[bit + low] = tables.leave[low] ^ leave_power;
    }
    reduce_power = TimesX(reduce_power);
    leave_power = TimesX(leave_power);
  }
  for (size_t byte = 0; byte < 256; ++byte) tables.reduce[byte] ^= static_cast<uint64_t>(byte & 1) << 63;
  return tables;
}

inline constexpr RabinTables kRabinTables = MakeRabinTables();

// The fingerprint after `in` came into the window and `out`, the byte 48 before it, left.
constexpr uint64_t Roll(uint64_t fingerprint, uint8_t in, uint8_t out) {
  return ((fingerprint << 8) ^ in ^ kRabinTables.leave[out]) ^ kRabinTables.reduce[fingerprint >> 55];
}

// Returns the fingerprint of the window that ends before `end`.
constexpr uint64_t FingerprintBefore(const uint8_t* end) {
  uint64_t fingerprint = 0;
  for (const uint8_t* at = end - kWindowBytes; at != end; ++at) fingerprint = Roll(fingerprint, *at, 0);
  return fingerprint;
}

}  // namespace runnel

#endif  // RUNNEL_CHUNK_RABIN_H_
