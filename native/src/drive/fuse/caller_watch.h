// Programs that wait, looked after: the wait of one that has to end is ended. On a thread of its own, since the kernel
// shows nothing of a process that is in the middle of execve(2), which closes files too: that look lasts until the
// close is answered, and nothing else may wait for it.
#ifndef RUNNEL_DRIVE_FUSE_CALLER_WATCH_H_
#define RUNNEL_DRIVE_FUSE_CALLER_WATCH_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace runnel::drive {

class CallerWatch {
 public:
  // `has_to_end`: whether a thread's wait is to be ended. `is_waiting`: whether a waiter has not ended yet; `end` ends
  // it.
  CallerWatch(std::function<bool(pid_t)> has_to_end, std::function<bool(uint64_t)> is_waiting,
              std::function<void(uint64_t)> end)
      : has_to_end_(std::move(has_to_end)), is_waiting_(std::move(is_waiting)), end_(std::move(end)) {}

  // The body of the thread, until Stop.
  void Run();
  void Stop();

  // Any thread; never waits.
  void Watch(pid_t thread, uint64_t waiter);

 private:
  struct Caller {
    pid_t thread;
    uint64_t waiter;
  };

  const std::function<bool(pid_t)> has_to_end_;
  const std::function<bool(uint64_t)> is_waiting_;
  const std::function<void(uint64_t)> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Caller> callers_;
  bool is_stopped_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_CALLER_WATCH_H_
