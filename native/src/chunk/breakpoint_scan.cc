#include "src/chunk/breakpoint_scan.h"

#include "src/chunk/rabin.h"

namespace runnel {

namespace {

// Independent rolls that hide each other's latency; more do not fit into the registers.
constexpr size_t kLanes = 4;

}  // namespace

void ScanPortable(const uint8_t* bytes, size_t length, uint64_t* bits) {
  const Segments segments(length, kLanes);
  const uint8_t* lanes[kLanes];
  uint64_t fingerprints[kLanes] = {};
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = bytes + segments.Begin(i);
  for (size_t step = kScanHeadBytes - kWindowBytes; step < kScanHeadBytes; ++step) {
    for (size_t i = 0; i < kLanes; ++i) fingerprints[i] = Roll(fingerprints[i], lanes[i][step], 0);
  }
  const size_t end = kScanHeadBytes + segments.stride;
  for (size_t step = kScanHeadBytes; step < end; ++step) {
    for (size_t i = 0; i < kLanes; ++i) {
      fingerprints[i] = Roll(fingerprints[i], lanes[i][step], lanes[i][step - kWindowBytes]);
      if (IsBreakpoint(fingerprints[i])) SetBit(bits, static_cast<size_t>(lanes[i] - bytes) + step);
    }
  }
}

BreakpointScan FastestScan() {
  static const BreakpointScan scan = ScanGfni() != nullptr   ? ScanGfni()
                                     : ScanAvx2() != nullptr ? ScanAvx2()
                                                             : &ScanPortable;
  return scan;
}

}  // namespace runnel
