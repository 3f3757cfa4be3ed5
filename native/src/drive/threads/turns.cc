#include "turns.h"

#include <iterator>
#include <utility>

namespace runnel::drive {

void Turns::Begin() {
  std::unique_lock lock(mutex_);
  is_free_.wait(lock, [this] { return !is_taken_; });
  is_taken_ = true;
}

void Turns::End() {
  std::vector<Left> done;
  std::unique_lock lock(mutex_);
  while (!left_.empty()) {
    std::vector<Left> left = std::exchange(left_, {});
    lock.unlock();
    for (const Left& each : left) each.act();
    std::move(left.begin(), left.end(), std::back_inserter(done));
    lock.lock();
  }
  is_taken_ = false;
  is_free_.notify_one();
  lock.unlock();
  for (const Left& each : done) each.after();
}

void Turns::Do(std::function<void()> act, std::function<void()> after) {
  std::unique_lock lock(mutex_);
  left_.push_back({std::move(act), std::move(after)});
  if (is_taken_) return;
  is_taken_ = true;
  lock.unlock();
  End();
}

}  // namespace runnel::drive
