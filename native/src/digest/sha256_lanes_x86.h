// SHA-256 of 16 streams with AVX-512: one vector for each word of the state, one 32-bit element of it for each stream.
#ifndef RUNNEL_DIGEST_SHA256_LANES_X86_H_
#define RUNNEL_DIGEST_SHA256_LANES_X86_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

inline constexpr size_t kSha256Lanes = 16;

bool HasSha256Lanes();

// A Sha256Fold.
void FoldSha256Lanes(uint32_t* states, size_t stride, const uint8_t* const* blocks, size_t count);

}  // namespace runnel

#endif  // RUNNEL_DIGEST_SHA256_LANES_X86_H_
