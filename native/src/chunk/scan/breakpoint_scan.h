// Finds breakpoints in a buffer many at a time. Whether a position is one depends on the 48 bytes before it alone, so a
// buffer is divided into segments that roll side by side, one lane each; which breakpoints become cuts is decided
// afterwards (chunk_stream.cc), in order.
#ifndef RUNNEL_CHUNK_SCAN_BREAKPOINT_SCAN_H_
#define RUNNEL_CHUNK_SCAN_BREAKPOINT_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace runnel {

// Positions up to here are not looked at: lanes fill their windows meanwhile.
inline constexpr size_t kScanHeadBytes = 64;
// The least that a scan takes; less is not worth it.
inline constexpr size_t kScanBytesMin = 8 * 1024;

// Sets bit p - 1 of `bits` for each position p in (kScanHeadBytes, length] (a count of bytes) where the window that
// ends there is a breakpoint; leaves the other bits alone. `bits` has a bit for each byte; `length` is at least
// kScanBytesMin.
using BreakpointScan = void (*)(const uint8_t* bytes, size_t length, uint64_t* bits);

void ScanPortable(const uint8_t* bytes, size_t length, uint64_t* bits);
// Scans in one lane: a plain roll over every byte, beside which the others are measured.
void ScanPlain(const uint8_t* bytes, size_t length, uint64_t* bits);

struct ScanEngine {
  const char* name;
  BreakpointScan scan;
};

// Engines that need vector instructions which this processor has, the fastest first.
std::vector<ScanEngine> VectorScans();

// All that this processor can run, found once, the fastest first, ScanPortable and ScanPlain last.
std::span<const ScanEngine> ScanEngines();

inline BreakpointScan FastestScan() { return ScanEngines().front().scan; }

inline void SetBit(uint64_t* bits, size_t at) { bits[at / 64] |= uint64_t{1} << (at % 64); }

// Divides a buffer for a scan: `lanes` segments, each `stride` after the one before but the last ones, which move back
// so that all end within the buffer. A lane reads kScanHeadBytes + stride bytes.
struct Segments {
  Segments(size_t length, size_t lanes) {
    // Whole cache lines, an odd number of them: lanes that lie a multiple of 4 KiB apart would share cache sets.
    const size_t lines = ((length - kScanHeadBytes + lanes - 1) / lanes + kLineBytes - 1) / kLineBytes;
    stride = (lines | 1) * kLineBytes;
    last_begin = length - kScanHeadBytes - stride;
  }

  size_t Begin(size_t lane) const { return lane * stride < last_begin ? lane * stride : last_begin; }

  static constexpr size_t kLineBytes = 64;
  size_t stride;
  size_t last_begin;
};

}  // namespace runnel

#endif  // RUNNEL_CHUNK_SCAN_BREAKPOINT_SCAN_H_
