#include "alarm_clock.h"

#include <chrono>

namespace runnel::drive {

void AlarmClock::WakeAt(int64_t at_ms) {
  std::lock_guard lock(mutex_);
  if (wake_at_ms_ != 0 && wake_at_ms_ <= at_ms) return;
  wake_at_ms_ = at_ms;
  changed_.notify_one();
}

void AlarmClock::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (wake_at_ms_ == 0) {
      changed_.wait(lock);
      continue;
    }
    const int64_t left_ms = wake_at_ms_ - now_ms_();
    if (left_ms > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(left_ms));
      continue;
    }
    wake_at_ms_ = 0;
    lock.unlock();
    const int64_t next_ms = ring_(now_ms_());
    lock.lock();
    if (next_ms != 0 && (wake_at_ms_ == 0 || next_ms < wake_at_ms_)) wake_at_ms_ = next_ms;
  }
}

void AlarmClock::Stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

}  // namespace runnel::drive
