// SHA-256 (FIPS 180-4), on the fastest engine that the processor has.
#ifndef RUNNEL_DIGEST_SHA256_H_
#define RUNNEL_DIGEST_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace runnel {

inline constexpr size_t kDigestBytes = 32;
inline constexpr size_t kDigestBlockBytes = 64;

using Digest = std::array<uint8_t, kDigestBytes>;

// Folds `count` blocks of 64 bytes into the eight words of state.
using Sha256Engine = void (*)(uint32_t state[8], const uint8_t* blocks, size_t count);

void Sha256Portable(uint32_t state[8], const uint8_t* blocks, size_t count);

// The processor's SHA instructions, or nullptr where it has none.
Sha256Engine Sha256Instructions();

// Chosen once for the process.
Sha256Engine FastestSha256();

class Sha256 {
 public:
  explicit Sha256(Sha256Engine engine = FastestSha256());

  void Update(const uint8_t* bytes, size_t length);

  // The digest of all bytes since construction or the last Finish; starts anew.
  Digest Finish();

 private:
  void Start();

  Sha256Engine engine_;
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, kDigestBlockBytes> open_block_;
  uint64_t total_bytes_;
};

}  // namespace runnel

#endif  // RUNNEL_DIGEST_SHA256_H_
