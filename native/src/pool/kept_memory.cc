#include "kept_memory.h"

#include <atomic>
#include <chrono>

// Known after any header of the system.
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace runnel {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGiveBackEvery(5);

}  // namespace

void KeepLittleMemory() {
#ifdef __GLIBC__
  constexpr int kArenas = 2;
  constexpr int kMappedBytes = 128 * 1024;
  constexpr int kKeptBytes = 1024 * 1024;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
#endif
}

void GiveMemoryBack() {
  static std::atomic<Clock::rep> next{0};
  Clock::rep due = next.load(std::memory_order_relaxed);
  const Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < due) return;
  // Lets a single thread through.
  if (!next.compare_exchange_strong(due, (now + kGiveBackEvery).time_since_epoch().count())) return;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace runnel
