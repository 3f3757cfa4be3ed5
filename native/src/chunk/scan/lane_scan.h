// The loop of scans over byte planes, for an engine of vector instructions. Included by an engine's file only, after
// its target has been set: every function here must be compiled for it.
//
// An Engine has kLanes, Vector, State (the planes), and
//   static void Load(const uint8_t* const* lanes, size_t at, Vector* to)   bytes at … at + kLanes - 1 of each lane,
//                                                                          transposed: to[j] has byte at + j of all
//   static void Roll(State& state, Vector in, Vector out)
//   static uint64_t Breakpoints(const State& state)                       a bit for each lane
namespace runnel {
namespace {

// Bytes that lanes have read, by step: as many as a window and a block need.
constexpr size_t kRingSteps = 128;
// The window is three of these: within one the ring does not wrap.
constexpr size_t kRunSteps = 16;
static_assert(kWindowBytes % kRunSteps == 0);
// Distance ahead at which a lane's next bytes are fetched: the processor does not follow so many streams by itself.
constexpr size_t kPrefetchBytes = 256;

template <typename Engine>
void ScanLanes(const uint8_t* bytes, size_t length, uint64_t* bits) {
  using Vector = typename Engine::Vector;
  constexpr size_t kLanes = Engine::kLanes;
  const Segments segments(length, kLanes);
  const uint8_t* lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = bytes + segments.Begin(i);
  Vector ring[kRingSteps] = {};
  typename Engine::State state = {};
  const size_t end = kScanHeadBytes + segments.stride;
  for (size_t block = 0; block < end; block += kLanes) {
    if (block % Segments::kLineBytes == 0 && block + kPrefetchBytes < end) {
      for (const uint8_t* lane : lanes) __builtin_prefetch(lane + block + kPrefetchBytes);
    }
    Engine::Load(lanes, block, ring + block % kRingSteps);
    for (size_t run = block; run < block + kLanes; run += kRunSteps) {
      const Vector* in = ring + run % kRingSteps;
      const Vector* out = ring + (run + kRingSteps - kWindowBytes) % kRingSteps;
      for (size_t j = 0; j < kRunSteps; ++j) {
        Engine::Roll(state, in[j], out[j]);
        uint64_t found = Engine::Breakpoints(state);
        if (__builtin_expect(found == 0 || run < kScanHeadBytes, 1)) continue;
        for (; found != 0; found &= found - 1) {
          SetBit(bits, static_cast<size_t>(lanes[__builtin_ctzll(found)] - bytes) + run + j);
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel
