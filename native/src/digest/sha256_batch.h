// SHA-256 of many pieces of memory at once. A stream by itself leaves most of the processor idle, so several fold side
// by side: the longest pieces first, on the widest engine that enough of them are left for.
#ifndef RUNNEL_DIGEST_SHA256_BATCH_H_
#define RUNNEL_DIGEST_SHA256_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sha256.h"

namespace runnel {

struct DigestPiece {
  // Goes on from here; after the batch it is where `bytes` left it, or starts anew when the piece ends there.
  Sha256 stream;
  // Left alone until the batch is done.
  const uint8_t* bytes;
  size_t length;
  bool is_end;
  // The digest of all bytes of a stream that ended.
  Digest digest = {};
};

// `engines`: all of Sha256Engines(), or one of them alone.
void DigestAll(std::span<DigestPiece> pieces, std::span<const Sha256Engine> engines = Sha256Engines());

}  // namespace runnel

#endif  // RUNNEL_DIGEST_SHA256_BATCH_H_
