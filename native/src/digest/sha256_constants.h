// The round constants of FIPS 180-4, section 4.2.2, computed from their definition: the first 32 bits of the fractional
// parts of the cube roots of the first 64 primes. The start values (5.3.3) are the same of the square roots of the
// first eight.
#ifndef RUNNEL_DIGEST_SHA256_CONSTANTS_H_
#define RUNNEL_DIGEST_SHA256_CONSTANTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace runnel {

namespace sha256_internal {

__extension__ typedef unsigned __int128 Wide;

constexpr bool IsPrime(uint32_t number) {
  for (uint32_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number >= 2;
}

constexpr Wide Power(Wide base, int exponent) {
  Wide result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

// Low 32 bits of floor(number^(1/root) * 2^32), bit by bit. number < 2^9, so (root * 2^32)^3 stays below 2^105.
constexpr uint32_t RootFraction(uint32_t number, int root) {
  const Wide wanted = static_cast<Wide>(number) << (32 * root);
  uint64_t result = 0;
  for (uint64_t bit = uint64_t{1} << 37; bit != 0; bit >>= 1) {
    if (Power(result | bit, root) <= wanted) result |= bit;
  }
  return static_cast<uint32_t>(result);
}

template <size_t kCount>
constexpr std::array<uint32_t, kCount> RootFractions(int root) {
  std::array<uint32_t, kCount> result{};
  uint32_t prime = 1;
  for (uint32_t& value : result) {
    do {
      ++prime;
    } while (!IsPrime(prime));
    value = RootFraction(prime, root);
  }
  return result;
}

}  // namespace sha256_internal

alignas(16) inline constexpr std::array<uint32_t, 64> kSha256Rounds = sha256_internal::RootFractions<64>(3);
inline constexpr std::array<uint32_t, 8> kSha256Start = sha256_internal::RootFractions<8>(2);

static_assert(kSha256Rounds[0] == 0x428a2f98 && kSha256Start[0] == 0x6a09e667);

}  // namespace runnel

#endif  // RUNNEL_DIGEST_SHA256_CONSTANTS_H_
