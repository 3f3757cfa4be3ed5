#include "breakpoint_scan.h"

#include "src/chunk/rabin.h"

namespace runnel {

namespace {

// Independent rolls that hide each other's latency; more do not fit into the registers.
constexpr size_t kPortableLanes = 6;

// Looks at `stride` positions of each lane.
template <size_t kLanes>
void ScanSegments(const uint8_t* bytes, const uint8_t* const (&lanes)[kLanes], size_t stride, uint64_t* bits) {
  uint64_t fingerprints[kLanes] = {};
  for (size_t step = kScanHeadBytes - kWindowBytes; step < kScanHeadBytes; ++step) {
    for (size_t i = 0; i < kLanes; ++i) fingerprints[i] = Roll(fingerprints[i], lanes[i][step], 0);
  }
  const size_t end = kScanHeadBytes + stride;
  for (size_t step = kScanHeadBytes; step < end; ++step) {
    // Unrolled, since in a loop of their own the fingerprints would lie in memory.
#pragma GCC unroll 8
    for (size_t i = 0; i < kLanes; ++i) {
      fingerprints[i] = Roll(fingerprints[i], lanes[i][step], lanes[i][step - kWindowBytes]);
      if (__builtin_expect(IsBreakpoint(fingerprints[i]), 0))
        SetBit(bits, static_cast<size_t>(lanes[i] - bytes) + step);
    }
  }
}

std::vector<ScanEngine> FindEngines() {
  std::vector<ScanEngine> engines = VectorScans();
  engines.push_back({"portable", &ScanPortable});
  engines.push_back({"roll", &ScanPlain});
  return engines;
}

}  // namespace

void ScanPortable(const uint8_t* bytes, size_t length, uint64_t* bits) {
  const Segments segments(length, kPortableLanes);
  const uint8_t* lanes[kPortableLanes];
  for (size_t i = 0; i < kPortableLanes; ++i) lanes[i] = bytes + segments.Begin(i);
  ScanSegments(bytes, lanes, segments.stride, bits);
}

void ScanPlain(const uint8_t* bytes, size_t length, uint64_t* bits) {
  const uint8_t* lanes[] = {bytes};
  ScanSegments(bytes, lanes, length - kScanHeadBytes, bits);
}

std::span<const ScanEngine> ScanEngines() {
  // Never destroyed: the pool's threads are at work while a process ends.
  static const auto& engines = *new const std::vector<ScanEngine>(FindEngines());
  return engines;
}

}  // namespace runnel
