// A mount: the session with the kernel and its threads.
//
// Threads (all ours, none is libuv's): kServers read and handle requests; the worker runs what the core posts; the
// timer ends what is due; the invalidator tells the kernel to forget names, which may block while a request in that
// folder is unanswered, so it does nothing else; the closer, one at a time, unmounts. Start, Close, EndNow and the
// getters belong to the agent's thread. Locks: each queue has its own mutex, a leaf.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_FRONT_H_
#define RUNNEL_DRIVE_FUSE_FUSE_FRONT_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caller_signals.h"
#include "caller_watch.h"
#include "fuse_api.h"
#include "src/drive/core/drive_core.h"
#include "src/drive/kernel_front.h"
#include "src/drive/threads/alarm_clock.h"
#include "src/drive/threads/task_queue.h"

namespace runnel::drive {

class FuseFront final : public Front, public KernelFront {
 public:
  FuseFront(Settings settings, CoreSettings core_settings, std::function<void()> wake_agent);
  // Waits for the closer.
  ~FuseFront() override;

  DriveCore& core() override { return core_; }
  CallerWatch& closers() { return closers_; }
  CallerWatch& signalled() { return signalled_; }

  std::string Start() override;
  void Close(bool force, std::function<void(Ending)> done) override;
  void EndNow() override;

  void OnInit();
  // True once: what is being answered is INIT.
  bool TakeInit() { return is_init_due_.load(std::memory_order_relaxed) && is_init_due_.exchange(false); }

  // Front.
  int64_t NowBootMs() override;
  int64_t NowWallNs() override;
  int64_t NowKernelMs() override;
  void WakeAgent() override { wake_agent_(); }
  void Post(std::function<void()> task) override { tasks_.Post(std::move(task)); }
  void WakeAt(int64_t boot_ms) override { alarm_.WakeAt(boot_ms); }
  void InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) override;
  void InvalidateAttributes(uint64_t id, int64_t until_ms) override;

 private:
  struct Invalidation {
    uint64_t folder_id;  // 0: attributes of `id`
    std::string name;
    uint64_t id;
    uint64_t mark;
    int64_t until_ms;
  };
  static constexpr size_t kInvalidationsMax = 65536;

  std::string Serve(const std::string& mountpoint, const std::string& mounted);
  void AnswerRequests();
  void Invalidate();
  std::string CheckMountpoint() const;
  // Returns true while our mount is at the mountpoint.
  bool IsMounted() const;
  Ending CloseNow(bool force);
  void StopThreads();

  const Settings settings_;
  const std::function<void()> wake_agent_;
  DriveCore core_;
  CallerWatch closers_{WasKilled, [this](uint64_t waiter) { return core_.IsWaiting(waiter); },
                       [this](uint64_t waiter) { core_.Interrupt(waiter); }};
  // The kernel tells of one signal a request; whether it is one to end the wait for, or a later one is, has to be
  // looked at.
  CallerWatch signalled_{IsToEnd, [this](uint64_t waiter) { return core_.IsWaiting(waiter); },
                         [this](uint64_t waiter) { core_.Interrupt(waiter); }};
  fuse_session* session_ = nullptr;
  std::string mountpoint_;  // without symlinks
  std::string device_;      // of the mount (DeviceAt)
  std::atomic<bool> is_closing_{false};
  std::atomic<bool> is_init_due_{true};

  std::vector<std::thread> servers_;
  std::atomic<int> serving_{0};
  std::thread worker_;
  std::thread timer_;
  std::thread invalidator_;
  std::thread closers_thread_;
  std::thread signalled_thread_;
  std::thread closer_;

  TaskQueue tasks_;
  AlarmClock alarm_{[this] { return NowBootMs(); }, [this](int64_t now_ms) { return core_.Expire(now_ms); }};

  std::mutex invalidations_mutex_;
  std::condition_variable invalidations_ready_;
  std::deque<Invalidation> invalidations_;
  bool invalidations_end_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FUSE_FRONT_H_
