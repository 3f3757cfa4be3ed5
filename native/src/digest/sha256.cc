#include "sha256.h"

#include <algorithm>

#include "sha256_constants.h"

namespace runnel {

namespace {

// The padding ends with the length in bits, 8 bytes.
constexpr size_t kLengthBytes = 8;

void PutBigEndian(uint64_t value, size_t bytes, uint8_t* to) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

std::vector<Sha256Engine> FindEngines() {
  std::vector<Sha256Engine> engines = Sha256Instructions();
  engines.push_back({"portable", 1, 1, &Sha256Portable});
  return engines;
}

}  // namespace

std::span<const Sha256Engine> Sha256Engines() {
  // Never destroyed: the pool's threads are at work while a process ends.
  static const auto& engines = *new const std::vector<Sha256Engine>(FindEngines());
  return engines;
}

const Sha256Engine& FastestSha256() {
  static const Sha256Engine& engine = *std::find_if(Sha256Engines().begin(), Sha256Engines().end(),
                                                    [](const Sha256Engine& one) { return one.streams == 1; });
  return engine;
}

Sha256::Sha256(const Sha256Engine& engine) : fold_(engine.fold) { Start(); }

void Sha256::Start() {
  state_ = kSha256Start;
  total_bytes_ = 0;
}

void Sha256::Update(const uint8_t* bytes, size_t length) {
  const size_t open = open_bytes();
  total_bytes_ += length;
  if (open != 0) {
    const size_t filled = std::min(length, kDigestBlockBytes - open);
    std::copy_n(bytes, filled, open_block_.data() + open);
    bytes += filled;
    length -= filled;
    if (open + filled < kDigestBlockBytes) return;
    const uint8_t* block = open_block_.data();
    fold_(state_.data(), 1, &block, 1);
  }
  const size_t blocks = length / kDigestBlockBytes;
  if (blocks != 0) fold_(state_.data(), 1, &bytes, blocks);
  std::copy_n(bytes + blocks * kDigestBlockBytes, length % kDigestBlockBytes, open_block_.data());
}

Digest Sha256::Finish() {
  uint8_t end[2 * kDigestBlockBytes];
  const size_t blocks = MakeEnd(end);
  const uint8_t* at = end;
  fold_(state_.data(), 1, &at, blocks);
  const Digest digest = DigestOfState();
  Start();
  return digest;
}

size_t Sha256::MakeEnd(uint8_t end[2 * kDigestBlockBytes]) const {
  const size_t open = open_bytes();
  const size_t blocks = open + 1 + kLengthBytes <= kDigestBlockBytes ? 1 : 2;
  std::copy_n(open_block_.data(), open, end);
  end[open] = 0x80;
  std::fill(end + open + 1, end + blocks * kDigestBlockBytes - kLengthBytes, 0);
  PutBigEndian(total_bytes_ * 8, kLengthBytes, end + blocks * kDigestBlockBytes - kLengthBytes);
  return blocks;
}

Digest Sha256::DigestOfState() const {
  Digest digest;
  for (size_t i = 0; i < state_.size(); ++i) PutBigEndian(state_[i], 4, digest.data() + 4 * i);
  return digest;
}

}  // namespace runnel
