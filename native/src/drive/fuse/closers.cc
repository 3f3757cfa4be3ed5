#include "closers.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace runnel::drive {
namespace {

// Most closes are answered sooner, and cost no look.
constexpr auto kLookEvery = std::chrono::milliseconds(200);
// More than this are not looked after: they have their deadlines.
constexpr size_t kClosersMax = 4096;

// /proc/PID/stat (proc(5)): flags are field 9, the exit code is field 52.
bool WasKilled(pid_t pid) {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of linux/sched.h
  constexpr long kSignal = 0x7f;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (pid <= 0 || !std::getline(file, stat)) return false;
  const size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return false;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  unsigned long flags = 0;
  long exit_code = 0;
  for (int number = 3; number <= 52 && fields >> field; ++number) {
    if (number == 9) flags = strtoul(field.c_str(), nullptr, 10);
    if (number == 52) exit_code = strtol(field.c_str(), nullptr, 10);
  }
  return (flags & kExiting) != 0 && (exit_code & kSignal) != 0;
}

}  // namespace

void Closers::Watch(pid_t pid, uint64_t waiter) {
  std::lock_guard lock(mutex_);
  if (closers_.size() >= kClosersMax) return;
  closers_.push_back({pid, waiter});
  changed_.notify_one();
}

void Closers::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (closers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kLookEvery, [this] { return is_stopped_; });
    const std::vector<Closer> all = closers_;
    closers_.clear();
    lock.unlock();
    std::vector<Closer> left;
    for (const Closer& closer : all) {
      if (!is_waiting_(closer.waiter)) continue;
      if (WasKilled(closer.pid)) {
        end_(closer.waiter);
      } else {
        left.push_back(closer);
      }
    }
    lock.lock();
    closers_.insert(closers_.end(), left.begin(), left.end());
  }
}

void Closers::Stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

}  // namespace runnel::drive
