// SHA-256 (FIPS 180-4) of one stream, on the fastest engine that the processor has. Many at once: sha256_batch.h.
#ifndef RUNNEL_DIGEST_SHA256_H_
#define RUNNEL_DIGEST_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace runnel {

inline constexpr size_t kDigestBytes = 32;
inline constexpr size_t kDigestBlockBytes = 64;
inline constexpr size_t kDigestWords = 8;
// No engine folds more streams at once.
inline constexpr size_t kDigestStreamsMax = 16;

using Digest = std::array<uint8_t, kDigestBytes>;

// Folds `count` blocks of 64 bytes of each stream into its state: stream i has its blocks at blocks[i] and its eight
// words at states[i], states[stride + i], … The stride is at least the engine's streams.
using Sha256Fold = void (*)(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count);

struct Sha256Engine {
  const char* name;
  // The number of streams that it folds side by side. A single stream waits for the result of one instruction after
  // another.
  size_t streams;
  // With fewer to fold, the engines after it are faster.
  size_t streams_min;
  Sha256Fold fold;
};

void Sha256Portable(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count);

// Engines that need instructions which this processor has, the widest first.
std::vector<Sha256Engine> Sha256Instructions();

// All that this processor can run, found once: the widest first, at the end those of one stream, the fastest of them
// first.
std::span<const Sha256Engine> Sha256Engines();

// The fastest engine for a single stream.
const Sha256Engine& FastestSha256();

class Sha256 {
 public:
  // `engine`: one of one stream.
  explicit Sha256(const Sha256Engine& engine = FastestSha256());

  void Update(const uint8_t* bytes, size_t length);

  // The digest of all bytes since construction or the last Finish; starts anew.
  Digest Finish();

 private:
  friend class Sha256Lane;

  void Start();
  size_t open_bytes() const { return total_bytes_ % kDigestBlockBytes; }
  // Makes the last one or two blocks of those bytes that no block has been filled with. Returns how many.
  size_t MakeEnd(uint8_t end[2 * kDigestBlockBytes]) const;
  Digest DigestOfState() const;

  Sha256Fold fold_;
  std::array<uint32_t, kDigestWords> state_;
  std::array<uint8_t, kDigestBlockBytes> open_block_;
  uint64_t total_bytes_;
};

}  // namespace runnel

#endif  // RUNNEL_DIGEST_SHA256_H_
