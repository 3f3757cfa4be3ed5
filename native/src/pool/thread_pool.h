// Threads for work that must not run on JavaScript's thread. Three lanes share them, so that slow work of one lane
// never starves the others: any number of quick jobs run at once, but only kSyncJobsMax that wait for stable storage
// and one per processor that compute. All methods are safe from any thread.
#ifndef RUNNEL_POOL_THREAD_POOL_H_
#define RUNNEL_POOL_THREAD_POOL_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace runnel {

enum class Lane : size_t { kQuick = 0, kSync = 1, kCompute = 2 };

class ThreadPool {
 public:
  ThreadPool();
  ~ThreadPool();

  // Runs `job` on a thread of the pool, in order within its lane; does nothing after Stop. `job` must not throw.
  void Submit(Lane lane, std::function<void()> job);

  // Drops what has not begun and waits for what has.
  void Stop();

 private:
  static constexpr size_t kLanes = 3;

  struct LaneState {
    std::deque<std::function<void()>> waiting;
    size_t running = 0;
    size_t running_max = 0;
  };

  void RunJobs();
  LaneState* NextLane();  // needs mutex_; nullptr when nothing may start

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<LaneState, kLanes> lanes_;
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace runnel

#endif  // RUNNEL_POOL_THREAD_POOL_H_
