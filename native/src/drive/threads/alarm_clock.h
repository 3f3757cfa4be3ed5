// Has something done when it is due (Front::WakeAt), on a thread of its own.
#ifndef RUNNEL_DRIVE_THREADS_ALARM_CLOCK_H_
#define RUNNEL_DRIVE_THREADS_ALARM_CLOCK_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace runnel::drive {

class AlarmClock {
 public:
  // `now_ms`: the clock. `ring` is called with the time when something is due, and says when the next thing is; 0:
  // nothing.
  AlarmClock(std::function<int64_t()> now_ms, std::function<int64_t(int64_t)> ring)
      : now_ms_(std::move(now_ms)), ring_(std::move(ring)) {}

  // The body of the thread, until Stop.
  void Run();
  void Stop();

  // Rings no later than then. Any thread; never waits.
  void WakeAt(int64_t at_ms);

 private:
  const std::function<int64_t()> now_ms_;
  const std::function<int64_t(int64_t)> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t wake_at_ms_ = 0;
  bool is_stopped_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_THREADS_ALARM_CLOCK_H_
