// Saving: what FLUSH, FSYNC and RELEASE do, and the end of an open file.
#include <atomic>
#include <memory>

#include "drive_core.h"

namespace runnel::drive {

void DriveCore::Flush(ReplyPtr reply, Handle* handle) {
  CountNative(Op::kFlush);
  ConfirmPages(handle);
  if (!handle->can_write) return reply->Error(Kind::kNone);
  SetClosing(handle, true);
  Commit(reply, handle->file, CommitReason::kFlush, requests_.DeadlineOf(Op::kCommit), 1,
         [reply](Kind error) { reply->Error(error); });
}

void DriveCore::SetClosing(Handle* handle, bool is_closing) {
  if (handle->is_closing.exchange(is_closing) == is_closing) return;
  if (is_closing) {
    ++handle->file->closing;
  } else {
    --handle->file->closing;
  }
}

void DriveCore::Fsync(ReplyPtr reply, Handle* handle) {
  CountNative(Op::kFsync);
  Commit(reply, handle->file, CommitReason::kFsync, requests_.DeadlineOf(Op::kCommit), 1,
         [reply](Kind error) { reply->Error(error); });
}

void DriveCore::Sync(ReplyPtr reply) {
  AskAgent(reply, {.op = Op::kSync}, [reply](const Answer& answer) { reply->Error(answer.error); });
}

void DriveCore::Commit(const ReplyPtr& reply, FilePtr file, CommitReason reason, int64_t deadline_ms, int round,
                       std::function<void(Kind)> done) {
  const auto say = [&done](Kind error) {
    if (done) done(error);
  };
  if (!file->GetState().is_dirty) return OnClean(reply, reason, done);
  if (const Kind error = file->WriteError(); error != Kind::kNone) return say(error);
  const Caller caller = reply == nullptr ? Caller{} : reply->GetCaller();
  uint64_t read_before = 0;
  {
    std::unique_lock lock(mutex_);
    read_before = last_read_.Of(caller.pid);
    if (file->is_removed) {
      lock.unlock();
      return say(Kind::kNone);
    }
    file->has_failed = false;
  }
  const auto step = std::make_shared<std::atomic<File::CommitStep>>(File::CommitStep::kWaits);
  const uint64_t waiter = done ? requests_.NewId() : 0;
  if (waiter != 0) {
    auto resume = [this, reply, file, reason, deadline_ms, round, done, step](const Answer& answer) {
      // A commit that began before this request may lack what it has to save, and its failure is not ours; one that
      // began later has all.
      const bool is_ours = *step == File::CommitStep::kBegun;
      const bool has_all = is_ours || *step == File::CommitStep::kClean || round > 1;
      if (has_all && !is_ours && answer.error == Kind::kNone) return OnClean(reply, reason, done);
      if (answer.is_given_up || has_all) return done(answer.error);
      front_->Post([=, this] { Commit(reply, file, reason, deadline_ms, round + 1, done); });
    };
    auto abandon = [this, file, waiter](bool was_interrupted) {
      uint64_t commit = 0;
      const bool is_last = file->LeaveCommit(waiter, &commit);
      if (is_last && was_interrupted) requests_.Notify({Notice::kInterrupted, commit, 0, {}});
    };
    if (!requests_.Wait(waiter, {reply, deadline_ms, resume, abandon})) return done(Kind::kIo);
    if (reply != nullptr && reason == CommitReason::kFlush) reply->WatchCaller(waiter);
  }
  const auto message = std::make_shared<Message>();
  *message = {.id = requests_.NewId(),
              .caller = caller,
              .reason = reason,
              .read_before = read_before == file->node ? 0 : read_before};
  const auto begin = [file, message, waiter, step] { *step = file->BeginCommit(message.get(), waiter); };
  file->InTurn(begin, [this, file, message, reason, waiter, step] {
    // No other one begins meanwhile, and the waiter is held.
    if (*step == File::CommitStep::kBegun)
      AskForCommit(file, std::move(*message), reason == CommitReason::kFlush ? waiter : 0);
    if (waiter == 0) return;
    if (*step == File::CommitStep::kClean) {
      requests_.Resume(waiter, {});
    } else {
      requests_.Release(waiter);
    }
  });
}

void DriveCore::OnClean(const ReplyPtr& reply, CommitReason reason, const std::function<void(Kind)>& done) {
  if (!done) return;
  // Another commit may have saved of it what is not safe from a power cut yet.
  if (reason != CommitReason::kFsync || reply == nullptr) return done(Kind::kNone);
  AskAgent(reply, {.op = Op::kSync}, [done](const Answer& answer) { done(answer.error); });
}

void DriveCore::AskForCommit(const FilePtr& file, Message message, uint64_t waiter) {
  const uint64_t id = message.id;
  bool is_early = false;
  if (waiter != 0 && early_.IsAllowed()) {
    std::lock_guard lock(mutex_);
    is_early = CommitsEarlyLocked(&message);
  }
  if (!is_early) {
    CountPassed(Op::kCommit);
    return requests_.Ask(std::move(message), [this, file](const Answer& answer) { OnCommitted(file, answer); });
  }
  CountNative(Op::kCommit);
  requests_.Ask(std::move(message), [this, file, id](const Answer& answer) {
    OnCommitted(file, answer);
    if (answer.error != Kind::kNone) return;
    std::lock_guard lock(mutex_);
    early_.Recorded(id);
  });
  requests_.Resume(waiter, {});
}

void DriveCore::CommitDirty(uint64_t ticket) {
  std::vector<FilePtr> dirty;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, file] : files_) {
      if (!file->is_removed && file->GetState().is_dirty) dirty.push_back(file);
    }
  }
  struct Ending {
    explicit Ending(size_t files) : left(files) {}
    std::atomic<size_t> left;
    std::atomic<Kind> error{Kind::kNone};
  };
  // The count is one more than there are files, so that it ends once also when there is none.
  const auto ending = std::make_shared<Ending>(dirty.size() + 1);
  const auto ended = [this, ticket, ending](Kind error) {
    Kind none = Kind::kNone;
    if (error != Kind::kNone) ending->error.compare_exchange_strong(none, error);
    if (ending->left.fetch_sub(1) == 1) requests_.Notify({Notice::kCommitted, ticket, 0, {}, ending->error.load()});
  };
  for (const FilePtr& file : dirty) Commit(nullptr, file, CommitReason::kFsync, 0, 1, ended);
  ended(Kind::kNone);
}

void DriveCore::OnCommitted(const FilePtr& file, const Answer& answer) {
  std::vector<uint64_t> waiters;
  if (answer.error == Kind::kNone) file->KeepInFlight();
  {
    std::lock_guard lock(mutex_);
    waiters = file->EndCommit(answer);
    // There is no version of a file that nobody wants; what it has goes with the next one, if its name comes back.
    file->has_failed = !answer.is_version();
    if (answer.is_version()) OnVersionLocked(*file);
  }
  for (const uint64_t waiter : waiters) requests_.Resume(waiter, answer);
  front_->Post([this, file] { Finish(file); });
}

// Notes that an open file's content is its version now.
void DriveCore::OnVersionLocked(File& file) {
  KernelNode* kernel_node = nodes_.Find(file.kernel_id);
  if (kernel_node == nullptr || kernel_node->file.get() != &file) return;
  // The kernel's pages and size are this file's, so they are of that version.
  const File::State state = file.GetState();
  kernel_node->GiveOwn(state.version, state.size_bytes);
  if (kernel_node->rare().has_pages) kernel_node->MakeRare().pages_version = state.version;
  file.entry.version = state.version;
}

// Keeps an open file, whose content has become another file's, from whoever finds the name again: the kernel forgets
// under which name it had this id.
void DriveCore::GoElsewhereLocked(File& file) {
  if (std::exchange(file.is_elsewhere, true)) return;
  KernelNode* kernel_node = nodes_.Find(file.kernel_id);
  const uint64_t folder = entries_.ParentOf(file.node);
  std::string name;
  if (kernel_node == nullptr || !entries_.NameOf(folder, file.node, &name)) return;
  // A file with several names is given to the kernel with none to keep, so there is one at most.
  if (kernel_node->named_until_ms <= front_->NowKernelMs()) return;
  ForgetNameLocked(folder, name, *kernel_node, kernel_node->named_until_ms, true);
}

bool DriveCore::Saved(uint64_t file, uint64_t commit, uint64_t version, bool is_elsewhere) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  if (found == files_.end()) return false;
  File& saved = *found->second;
  if (is_elsewhere) GoElsewhereLocked(saved);
  if (!saved.Saved(commit, version)) return false;
  if (!saved.NeedsCommit()) saved.has_failed = false;
  if (saved.GetState().version == version) OnVersionLocked(saved);
  return true;
}

void DriveCore::Release(Handle* handle) {
  {
    // An open that was given to nobody may be released by the end of the drive as well.
    std::lock_guard lock(mutex_);
    if (handles_.erase(handle) == 0) return;
  }
  ConfirmPages(handle);
  const FilePtr file = handle->file;
  {
    std::lock_guard lock(mutex_);
    --file->handles;
    if (handle->can_write) --file->writers;
    SetClosing(handle, false);
  }
  delete handle;
  CountNative(Op::kRelease);
  Finish(file);
}

void DriveCore::Finish(const FilePtr& file) {
  std::unique_lock lock(mutex_);
  if (file->has_ended || file->writers > 0) return;
  // A failure has been reported and its data is with the agent; only what came after it is committed now.
  const bool is_new = !file->has_failed || file->HasChanged();
  if (file->NeedsCommit() && !file->IsCommitting() && is_new && !file->is_removed &&
      file->WriteError() == Kind::kNone) {
    lock.unlock();
    return Commit(nullptr, file, CommitReason::kRelease, 0, 1, nullptr);
  }
  if (file->handles > 0 || file->IsCommitting()) return;
  file->has_ended = true;
  files_.erase(file->id);
  if (KernelNode* kernel_node = nodes_.Find(file->kernel_id); kernel_node != nullptr && kernel_node->file == file) {
    // The data that was lost here was in the kernel's pages too.
    KernelNode::Rare& rare = kernel_node->MakeRare();
    if (file->NeedsCommit()) rare.has_pages = false;
    rare.allocated_version = file->GetState().version;
    rare.allocated_bytes = file->AllocatedBytes();
    kernel_node->file = nullptr;
    nodes_.Settle(*kernel_node);
  }
  lock.unlock();
  // Whoever is told drops what is not in use, and is told once: this thread has the file a while longer.
  file->LeaveBase();
  requests_.Notify({Notice::kClosed, file->id, file->node, {}});
}

}  // namespace runnel::drive
