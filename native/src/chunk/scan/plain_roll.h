// The plain engine: one fingerprint, one byte at a time. The reference for engines that roll many lanes at once.
#ifndef RUNNEL_CHUNK_SCAN_PLAIN_ROLL_H_
#define RUNNEL_CHUNK_SCAN_PLAIN_ROLL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/chunk/rabin.h"

namespace runnel {

class PlainRoll {
 public:
  // `mask`: the bits of a fingerprint that decide (chunk_preset.h).
  explicit PlainRoll(uint64_t mask) : mask_(mask) {}

  // Forgets the window: the next 48 bytes fill it.
  void Reset();

  // After Reset: rolls over at most kWindowBytes, looking for nothing.
  void Fill(const uint8_t* bytes, size_t length);

  // Rolls over `bytes` until the first position in [check_from, length] (a count of bytes taken; check_from is 1 … 48)
  // where the window before it is a breakpoint. Returns how many bytes were taken; `found` says whether the last one
  // ended at a breakpoint.
  size_t Run(const uint8_t* bytes, size_t length, size_t check_from, bool* found);

 private:
  void KeepWindow(const uint8_t* bytes, size_t taken);

  uint64_t mask_;
  uint64_t fingerprint_ = 0;
  std::array<uint8_t, kWindowBytes> window_{};  // the last 48 bytes taken, oldest first
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_SCAN_PLAIN_ROLL_H_
