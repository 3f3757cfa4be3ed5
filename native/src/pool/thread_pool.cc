#include "thread_pool.h"

#include <algorithm>
#include <utility>

#include "kept_memory.h"

namespace runnel {

namespace {

// Threads that neither of the other lanes can take: what is left for quick jobs at the worst.
constexpr size_t kReservedThreads = 2;
// Several at once let a journaling file system commit them as one group.
constexpr size_t kSyncJobsMax = 4;
constexpr size_t kComputeJobsMax = 16;

}  // namespace

ThreadPool::ThreadPool() {
  const size_t processors = std::max<size_t>(1, std::thread::hardware_concurrency());
  const size_t compute_max = std::min(processors, kComputeJobsMax);
  const size_t threads = kReservedThreads + kSyncJobsMax + compute_max;
  lanes_[static_cast<size_t>(Lane::kQuick)].running_max = threads;
  lanes_[static_cast<size_t>(Lane::kSync)].running_max = kSyncJobsMax;
  lanes_[static_cast<size_t>(Lane::kCompute)].running_max = compute_max;
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { RunJobs(); });
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Submit(Lane lane, std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopped_) return;
    lanes_[static_cast<size_t>(lane)].waiting.push_back(std::move(job));
  }
  changed_.notify_one();
}

void ThreadPool::Stop() {
  std::array<std::deque<std::function<void()>>, kLanes> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopped_ = true;
    for (size_t i = 0; i < kLanes; ++i) dropped[i].swap(lanes_[i].waiting);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

ThreadPool::LaneState* ThreadPool::NextLane() {
  for (LaneState& lane : lanes_) {
    if (!lane.waiting.empty() && lane.running < lane.running_max) return &lane;
  }
  return nullptr;
}

void ThreadPool::RunJobs() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    LaneState* lane = nullptr;
    changed_.wait(lock, [&] { return (lane = NextLane()) != nullptr || is_stopped_; });
    if (lane == nullptr) return;
    {
      const std::function<void()> job = std::move(lane->waiting.front());
      lane->waiting.pop_front();
      ++lane->running;
      lock.unlock();
      job();
    }
    GiveMemoryBack();
    lock.lock();
    --lane->running;
    // This thread looks for more itself; no other needs to be woken for the place that became free.
  }
}

}  // namespace runnel
