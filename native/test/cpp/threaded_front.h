// A front of the drive with threads, without a kernel: posted tasks run on a thread of their own, time is the
// machine's, and replies only remember how often they were given.
#ifndef RUNNEL_TEST_CPP_THREADED_FRONT_H_
#define RUNNEL_TEST_CPP_THREADED_FRONT_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "src/drive/core/drive_core.h"

namespace runnel::drive {

class ThreadedFront : public Front {
 public:
  ThreadedFront() : thread_([this] { Run(); }) {}
  ~ThreadedFront() override { Stop(); }

  // Runs what was posted and ends.
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  // Until the agent has something to do, or the front was stopped.
  void AwaitWake() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_woken_ || is_stopped_; });
    is_woken_ = false;
  }

  int64_t NowBootMs() override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  int64_t NowKernelMs() override { return NowBootMs(); }
  int64_t NowWallNs() override { return NowBootMs() * 1'000'000; }
  void WakeAgent() override {
    {
      std::lock_guard lock(mutex_);
      is_woken_ = true;
    }
    changed_.notify_all();
  }
  void Post(std::function<void()> task) override {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  void WakeAt(int64_t) override {}
  void InvalidateName(uint64_t, std::string, uint64_t id, uint64_t mark, int64_t) override {
    if (mark != 0 && core != nullptr) Post([this, id, mark] { core->Invalidated(id, mark); });
  }
  void InvalidateAttributes(uint64_t, int64_t) override {}

  DriveCore* core = nullptr;  // set before any thread begins

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !tasks_.empty() || is_stopped_; });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_woken_ = false;
  bool is_stopped_ = false;
  std::thread thread_;
};

struct Heard {
  Kind error = Kind::kNone;
  EntryAnswer entry;
  Handle* handle = nullptr;
  FolderHandle* folder = nullptr;
  std::string data;
};

// The request of a program, which waits for it.
class WaitingReply : public Reply {
 public:
  Heard Await() { return promise_.get_future().get(); }
  int times() const { return times_; }
  uint64_t waiter() const { return waiter_; }

  Caller GetCaller() const override { return {0, 0, 1}; }
  void WatchCaller(uint64_t) override {}
  void OnWaiting(uint64_t waiter) override { waiter_ = waiter; }
  void Error(Kind error) override { Hear({.error = error}); }
  bool Entry(const EntryAnswer& answer) override { return Hear({.entry = answer}); }
  bool Created(const EntryAnswer& answer, Handle* handle) override { return Hear({.entry = answer, .handle = handle}); }
  bool Opened(Handle* handle, bool) override { return Hear({.handle = handle}); }
  bool FolderOpened(FolderHandle* handle) override { return Hear({.folder = handle}); }
  void Attributes(const struct Attributes& attributes, uint32_t) override {
    Hear({.entry = {.attributes = attributes}});
  }
  void Data(const char* data, size_t size) override { Hear({.data = std::string(data, size)}); }
  void Written(size_t) override { Hear({}); }
  void Filesystem(const Space&) override { Hear({}); }
  void BeginNames(size_t, bool) override {}
  bool AddName(const std::string&, const EntryAnswer&, uint64_t) override { return true; }
  void SendNames() override { Hear({}); }

 private:
  bool Hear(Heard heard) {
    if (times_++ == 0) promise_.set_value(std::move(heard));
    return true;
  }

  std::promise<Heard> promise_;
  std::atomic<int> times_ = 0;
  std::atomic<uint64_t> waiter_ = 0;
};

}  // namespace runnel::drive

#endif  // RUNNEL_TEST_CPP_THREADED_FRONT_H_
