#include "memory_front.h"

#include <algorithm>

namespace runnel::drive {

class MemoryReply final : public Reply {
 public:
  MemoryReply(MemoryFront* front, uint64_t ticket, const Caller& caller)
      : front_(front), ticket_(ticket), caller_(caller) {}

  Caller GetCaller() const override { return caller_; }
  void WatchCaller(uint64_t) override {}
  void OnWaiting(uint64_t waiter) override { front_->waiters_[ticket_] = waiter; }
  void Error(Kind error) override { Complete({.error = error}); }
  bool Entry(const EntryAnswer& answer) override { return Complete({.has_entry = true, .entry = answer}); }
  bool Created(const EntryAnswer& answer, Handle* handle) override {
    return Complete({.has_entry = true, .entry = answer, .handle = handle});
  }
  bool Opened(Handle* handle, bool keeps_cache) override {
    return Complete({.handle = handle, .keeps_cache = keeps_cache});
  }
  bool FolderOpened(FolderHandle* handle) override { return Complete({.folder_handle = handle}); }
  void Attributes(const struct Attributes& attributes, uint32_t timeout_ms) override {
    Complete({.entry = {.attributes = attributes, .attribute_timeout_ms = timeout_ms}, .has_attributes = true});
  }
  void Data(const char* data, size_t size) override { Complete({.has_data = true, .data = std::string(data, size)}); }
  void Written(size_t size) override { Complete({.written = size}); }
  void Filesystem(const Space& space) override { Complete({.has_space = true, .space = space}); }
  // The size of a page is its number of names here.
  void BeginNames(size_t size, bool) override { room_ = size; }
  bool AddName(const std::string& name, const EntryAnswer& answer, uint64_t) override {
    if (names_.size() >= room_) return false;
    names_.emplace_back(name, answer);
    return true;
  }
  void SendNames() override { Complete({.names = std::move(names_)}); }

 private:
  bool Complete(MemoryResult result) {
    front_->waiters_.erase(ticket_);
    front_->complete_(ticket_, std::move(result));
    return true;
  }

  MemoryFront* const front_;
  const uint64_t ticket_;
  const Caller caller_;
  size_t room_ = 0;
  std::vector<std::pair<std::string, EntryAnswer>> names_;
};

void MemoryFront::SetTime(int64_t boot_ms, int64_t wall_ns, int64_t kernel_ms) {
  boot_ms_ = boot_ms;
  kernel_ms_ = kernel_ms;
  wall_ns_ = wall_ns;
}

ReplyPtr MemoryFront::ReplyTo(uint64_t ticket, const Caller& caller) {
  return std::make_shared<MemoryReply>(this, ticket, caller);
}

void MemoryFront::Interrupt(uint64_t ticket) {
  auto found = waiters_.find(ticket);
  if (found != waiters_.end()) core_.Interrupt(found->second);
}

void MemoryFront::RunTasks() {
  while (!tasks_.empty()) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
}

void MemoryFront::WakeAt(int64_t boot_ms) {
  if (wake_at_ms_ == 0 || boot_ms < wake_at_ms_) wake_at_ms_ = boot_ms;
}

void MemoryFront::Expire() {
  wake_at_ms_ = 0;
  if (const int64_t next_ms = core_.Expire(boot_ms_); next_ms != 0) WakeAt(next_ms);
}

void MemoryFront::InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) {
  invalidations_.push_back({folder_id, std::move(name), id, mark, until_ms});
}

void MemoryFront::InvalidateAttributes(uint64_t id, int64_t until_ms) {
  invalidations_.push_back({0, {}, id, 0, until_ms});
}

}  // namespace runnel::drive
