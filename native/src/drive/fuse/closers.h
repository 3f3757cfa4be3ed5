// Programs that wait in close(2), looked after: one that was killed ends at once. On a thread of its own, since the kernel shows nothing of a process that
// is in the middle of execve(2), which closes files too: that look lasts until the close is answered, and nothing else may wait for it.
#ifndef RUNNEL_DRIVE_FUSE_CLOSERS_H_
#define RUNNEL_DRIVE_FUSE_CLOSERS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace runnel::drive {

class Closers {
 public:
  // `is_waiting`: whether a waiter has not ended yet; `end` ends it.
  Closers(std::function<bool(uint64_t)> is_waiting, std::function<void(uint64_t)> end)
      : is_waiting_(std::move(is_waiting)), end_(std::move(end)) {}

  // The body of the thread, until Stop.
  void Run();
  void Stop();

  // Any thread; never waits.
  void Watch(pid_t pid, uint64_t waiter);

 private:
  struct Closer {
    pid_t pid;
    uint64_t waiter;
  };

  const std::function<bool(uint64_t)> is_waiting_;
  const std::function<void(uint64_t)> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Closer> closers_;
  bool is_stopped_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_CLOSERS_H_
