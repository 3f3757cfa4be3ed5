#include "caller_watch.h"

#include <chrono>

namespace runnel::drive {
namespace {

// Most waits are over sooner, and cost no look.
constexpr auto kLookEvery = std::chrono::milliseconds(200);
// More than this are not looked after: they have their deadlines.
constexpr size_t kCallersMax = 4096;

}  // namespace

void CallerWatch::Watch(pid_t thread, uint64_t waiter) {
  std::lock_guard lock(mutex_);
  if (callers_.size() >= kCallersMax) return;
  callers_.push_back({thread, waiter});
  changed_.notify_one();
}

void CallerWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (callers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kLookEvery, [this] { return is_stopped_; });
    const std::vector<Caller> all = callers_;
    callers_.clear();
    lock.unlock();
    std::vector<Caller> left;
    for (const Caller& caller : all) {
      if (!is_waiting_(caller.waiter)) continue;
      if (has_to_end_(caller.thread)) {
        end_(caller.waiter);
      } else {
        left.push_back(caller);
      }
    }
    lock.lock();
    callers_.insert(callers_.end(), left.begin(), left.end());
  }
}

void CallerWatch::Stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

}  // namespace runnel::drive
