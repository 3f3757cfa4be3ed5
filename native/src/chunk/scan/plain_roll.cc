#include "plain_roll.h"

#include <algorithm>
#include <cstring>

namespace runnel {

void PlainRoll::Reset() {
  fingerprint_ = 0;
  window_.fill(0);
}

void PlainRoll::Fill(const uint8_t* bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) fingerprint_ = Roll(fingerprint_, bytes[i], 0);
  KeepWindow(bytes, length);
}

size_t PlainRoll::Run(const uint8_t* bytes, size_t length, size_t check_from, bool* found) {
  const uint64_t mask = mask_;
  uint64_t fingerprint = fingerprint_;
  size_t taken = 0;
  bool is_breakpoint = false;
  // The bytes that leave are still those of the last call.
  const size_t from_window = std::min(length, kWindowBytes);
  while (taken < from_window && !is_breakpoint) {
    fingerprint = Roll(fingerprint, bytes[taken], window_[taken]);
    ++taken;
    is_breakpoint = taken >= check_from && (fingerprint & mask) == kBreakpointValue;
  }
  if (!is_breakpoint && length > kWindowBytes) {
    while (taken < length && !is_breakpoint) {
      fingerprint = Roll(fingerprint, bytes[taken], bytes[taken - kWindowBytes]);
      ++taken;
      is_breakpoint = (fingerprint & mask) == kBreakpointValue;
    }
  }
  fingerprint_ = fingerprint;
  KeepWindow(bytes, taken);
  *found = is_breakpoint;
  return taken;
}

void PlainRoll::KeepWindow(const uint8_t* bytes, size_t taken) {
  if (taken >= kWindowBytes) {
    std::memcpy(window_.data(), bytes + taken - kWindowBytes, kWindowBytes);
    return;
  }
  std::memmove(window_.data(), window_.data() + taken, kWindowBytes - taken);
  std::memcpy(window_.data() + kWindowBytes - taken, bytes, taken);
}

}  // namespace runnel
