#include "src/digest/sha256.h"

#include <algorithm>
#include <cstring>

#include "src/digest/sha256_constants.h"

namespace runnel {

namespace {

// The padding ends with the length in bits, 8 bytes.
constexpr size_t kLengthBytes = 8;

void PutBigEndian(uint64_t value, size_t bytes, uint8_t* to) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

}  // namespace

Sha256Engine FastestSha256() {
  static const Sha256Engine engine = Sha256Instructions() != nullptr ? Sha256Instructions() : &Sha256Portable;
  return engine;
}

Sha256::Sha256(Sha256Engine engine) : engine_(engine) { Start(); }

void Sha256::Start() {
  state_ = kSha256Start;
  total_bytes_ = 0;
}

void Sha256::Update(const uint8_t* bytes, size_t length) {
  const size_t open = total_bytes_ % kDigestBlockBytes;
  total_bytes_ += length;
  if (open != 0) {
    const size_t filled = std::min(length, kDigestBlockBytes - open);
    std::copy_n(bytes, filled, open_block_.data() + open);
    bytes += filled;
    length -= filled;
    if (open + filled < kDigestBlockBytes) return;
    engine_(state_.data(), open_block_.data(), 1);
  }
  const size_t blocks = length / kDigestBlockBytes;
  if (blocks != 0) engine_(state_.data(), bytes, blocks);
  std::copy_n(bytes + blocks * kDigestBlockBytes, length % kDigestBlockBytes, open_block_.data());
}

Digest Sha256::Finish() {
  std::array<uint8_t, 2 * kDigestBlockBytes> end{};
  const size_t open = total_bytes_ % kDigestBlockBytes;
  std::copy_n(open_block_.data(), open, end.data());
  end[open] = 0x80;
  const size_t blocks = open + 1 + kLengthBytes <= kDigestBlockBytes ? 1 : 2;
  PutBigEndian(total_bytes_ * 8, kLengthBytes, end.data() + blocks * kDigestBlockBytes - kLengthBytes);
  engine_(state_.data(), end.data(), blocks);
  Digest digest;
  for (size_t i = 0; i < state_.size(); ++i) PutBigEndian(state_[i], 4, digest.data() + 4 * i);
  Start();
  return digest;
}

}  // namespace runnel
