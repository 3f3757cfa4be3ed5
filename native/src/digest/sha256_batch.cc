#include "sha256_batch.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace runnel {

// A piece on its way: its blocks lie in up to three runs, the one that the stream had begun, those within the piece,
// and the end.
class Sha256Lane {
 public:
  void Begin(DigestPiece* piece) {
    piece_ = piece;
    Sha256& stream = piece->stream;
    const size_t open = stream.open_bytes();
    const size_t filled = open == 0 ? 0 : std::min(piece->length, kDigestBlockBytes - open);
    std::copy_n(piece->bytes, filled, stream.open_block_.data() + open);
    stream.total_bytes_ += piece->length;
    rest_ = piece->bytes + filled;
    rest_bytes_ = piece->length - filled;
    run_ = Run::kBegun;
    at_ = stream.open_block_.data();
    blocks_ = open != 0 && open + filled == kDigestBlockBytes ? 1 : 0;
  }

  // Sees to it that there are blocks to fold; false when none are left.
  bool HasBlocks() {
    while (blocks_ == 0) {
      if (run_ == Run::kEnd) return false;
      NextRun();
    }
    return true;
  }

  const uint8_t* at() const { return at_; }
  size_t blocks() const { return blocks_; }

  void Skip(size_t blocks) {
    at_ += blocks * kDigestBlockBytes;
    blocks_ -= blocks;
  }

  // Copies the stream's state to column `column` of the states that are folded, and Finish copies it back.
  void PutState(uint32_t* states, size_t column) const {
    const auto& state = piece_->stream.state_;
    for (size_t word = 0; word < kDigestWords; ++word) states[word * kDigestStreamsMax + column] = state[word];
  }
  void Finish(const uint32_t* states, size_t column) {
    Sha256& stream = piece_->stream;
    for (size_t word = 0; word < kDigestWords; ++word) stream.state_[word] = states[word * kDigestStreamsMax + column];
    if (!piece_->is_end) return;
    piece_->digest = stream.DigestOfState();
    stream.Start();
  }

 private:
  enum class Run { kBegun, kWithin, kEnd };

  void NextRun() {
    Sha256& stream = piece_->stream;
    if (run_ == Run::kBegun) {
      run_ = Run::kWithin;
      at_ = rest_;
      blocks_ = rest_bytes_ / kDigestBlockBytes;
      return;
    }
    run_ = Run::kEnd;
    // Bytes that fill no block follow those that the stream had, when even these filled none.
    std::copy_n(at_, rest_bytes_ % kDigestBlockBytes, stream.open_block_.data());
    if (!piece_->is_end) return;
    at_ = end_;
    blocks_ = stream.MakeEnd(end_);
  }

  DigestPiece* piece_;
  const uint8_t* rest_;
  size_t rest_bytes_;
  Run run_;
  const uint8_t* at_;
  size_t blocks_;
  uint8_t end_[2 * kDigestBlockBytes];
};

namespace {

// The lanes that are under way: always the first columns of the states.
class Batch {
 public:
  explicit Batch(std::span<const Sha256Engine> engines) : engines_(engines) {
    std::transform(memory_.begin(), memory_.end(), lanes_.begin(), [](Sha256Lane& lane) { return &lane; });
  }

  bool IsFull() const { return count_ == engines_.front().streams; }
  bool IsEmpty() const { return count_ == 0; }

  void Add(DigestPiece* piece) {
    lanes_[count_]->Begin(piece);
    lanes_[count_]->PutState(states_, count_);
    ++count_;
    RemoveIfDone(count_ - 1);
  }

  // Folds on until a run of some lane is at its end.
  void Fold() {
    const Sha256Engine& engine = EngineFor(count_);
    const size_t used = std::min(count_, engine.streams);
    const uint8_t* blocks[kDigestStreamsMax];
    size_t steps = lanes_[0]->blocks();
    for (size_t i = 0; i < used; ++i) {
      blocks[i] = lanes_[i]->at();
      steps = std::min(steps, lanes_[i]->blocks());
    }
    // Streams that an engine folds for nothing lie where it may read.
    for (size_t i = used; i < engine.streams; ++i) blocks[i] = blocks[0];
    engine.fold(states_, kDigestStreamsMax, blocks, steps);
    for (size_t i = used; i-- > 0;) {
      lanes_[i]->Skip(steps);
      RemoveIfDone(i);
    }
  }

 private:
  const Sha256Engine& EngineFor(size_t count) const {
    for (const Sha256Engine& engine : engines_) {
      if (count >= engine.streams_min) return engine;
    }
    return engines_.back();
  }

  void RemoveIfDone(size_t column) {
    if (lanes_[column]->HasBlocks()) return;
    lanes_[column]->Finish(states_, column);
    --count_;
    if (column == count_) return;
    std::swap(lanes_[column], lanes_[count_]);
    for (size_t word = 0; word < kDigestWords; ++word) {
      uint32_t* states = states_ + word * kDigestStreamsMax;
      states[column] = states[count_];
    }
  }

  std::span<const Sha256Engine> engines_;
  size_t count_ = 0;
  std::array<Sha256Lane, kDigestStreamsMax> memory_;
  std::array<Sha256Lane*, kDigestStreamsMax> lanes_;
  alignas(64) uint32_t states_[kDigestWords * kDigestStreamsMax] = {};
};

}  // namespace

void DigestAll(std::span<DigestPiece> pieces, std::span<const Sha256Engine> engines) {
  std::vector<DigestPiece*> longest_first(pieces.size());
  std::transform(pieces.begin(), pieces.end(), longest_first.begin(), [](DigestPiece& piece) { return &piece; });
  std::sort(longest_first.begin(), longest_first.end(),
            [](const DigestPiece* one, const DigestPiece* other) { return one->length > other->length; });
  Batch batch(engines);
  for (auto next = longest_first.begin(); next != longest_first.end() || !batch.IsEmpty();) {
    while (next != longest_first.end() && !batch.IsFull()) batch.Add(*next++);
    if (!batch.IsEmpty()) batch.Fold();
  }
}

}  // namespace runnel
