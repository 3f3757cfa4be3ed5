// The drive without a kernel: programs call it directly. Everything happens on the caller's thread and in the caller's
// time, in an order that depends on the calls alone, so that a simulation can be repeated.
//
// One thread only. Posted tasks run in RunTasks, which whoever calls the core calls afterwards.
#ifndef RUNNEL_DRIVE_MEMORY_MEMORY_FRONT_H_
#define RUNNEL_DRIVE_MEMORY_MEMORY_FRONT_H_

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/drive/core/drive_core.h"

namespace runnel::drive {

// The result of a program's request; the fields that mean something depend on the request.
struct MemoryResult {
  Kind error = Kind::kNone;
  bool has_entry = false;
  EntryAnswer entry = {};  // of lookup, make, link, create; its attributes also of getattr, setattr
  bool has_attributes = false;
  Handle* handle = nullptr;
  FolderHandle* folder_handle = nullptr;
  bool keeps_cache = false;
  bool has_data = false;
  std::string data = {};  // of read, readlink
  bool has_space = false;
  Space space = {};
  size_t written = 0;  // or a size, or an offset
  std::vector<std::pair<std::string, EntryAnswer>> names = {};
};

// An order to a kernel to forget a name of a folder, or (folder 0) the attributes of an id.
struct Invalidation {
  uint64_t folder_id = 0;
  std::string name;
  uint64_t id = 0;
  uint64_t mark = 0;
  int64_t until_ms = 0;
};

class MemoryFront final : public Front {
 public:
  using Complete = std::function<void(uint64_t ticket, MemoryResult result)>;

  MemoryFront(CoreSettings settings, Complete complete)
      : complete_(std::move(complete)), core_(this, std::move(settings)) {}

  DriveCore& core() { return core_; }
  void SetTime(int64_t boot_ms, int64_t wall_ns, int64_t kernel_ms);
  // A reply that calls Complete with this ticket.
  ReplyPtr ReplyTo(uint64_t ticket, const Caller& caller);
  // The program that waits for this ticket gives up.
  void Interrupt(uint64_t ticket);
  void RunTasks();
  // Returns true when the agent is to drain, since the last call.
  bool TakeWake() { return std::exchange(is_woken_, false); }
  // The next moment at which something may be due, 0: none.
  int64_t WakeTime() const { return wake_at_ms_; }
  void Expire();
  // Since the last call, in order. A mark that is not 0 stands until DriveCore::Invalidated.
  std::vector<Invalidation> TakeInvalidations() { return std::exchange(invalidations_, {}); }

  int64_t NowBootMs() override { return boot_ms_; }
  int64_t NowWallNs() override { return wall_ns_; }
  int64_t NowKernelMs() override { return kernel_ms_; }
  void WakeAgent() override { is_woken_ = true; }
  void Post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  void WakeAt(int64_t boot_ms) override;
  void InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) override;
  void InvalidateAttributes(uint64_t id, int64_t until_ms) override;

 private:
  friend class MemoryReply;

  const Complete complete_;
  DriveCore core_;
  int64_t boot_ms_ = 0;
  int64_t wall_ns_ = 0;
  int64_t kernel_ms_ = 0;
  int64_t wake_at_ms_ = 0;
  bool is_woken_ = false;
  std::deque<std::function<void()>> tasks_;
  std::vector<Invalidation> invalidations_;
  std::unordered_map<uint64_t, uint64_t> waiters_;  // ticket → waiter
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_MEMORY_MEMORY_FRONT_H_
