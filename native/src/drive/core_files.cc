// Files: open, create, read, write, commit, release.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "drive_core.h"

namespace runnel::drive {
namespace {

constexpr uint64_t kNeverMissed = UINT64_MAX;
constexpr uint64_t kAheadMax = 8 << 20;
constexpr uint64_t kAheadFrom = 256 << 10;   // a run this long is a sequential reader
constexpr uint64_t kRunSlack = 2 << 20;      // the kernel's read-ahead may arrive in another order

bool WantsWrite(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

// Space for one read of this thread.
char* ReadBuffer(size_t size) {
  thread_local std::unique_ptr<char[]> buffer;
  thread_local size_t capacity = 0;
  if (size > capacity) {
    buffer = std::make_unique_for_overwrite<char[]>(size);
    capacity = size;
  }
  return buffer.get();
}

// 0 or errno.
int ReadSegments(const File::Plan& plan, uint64_t offset, char* to) {
  for (const File::Segment& segment : plan.segments) {
    char* at = to + (segment.offset - offset);
    if (segment.fd < 0) {
      memset(at, 0, segment.length);
      continue;
    }
    for (uint64_t done = 0; done < segment.length;) {
      const ssize_t count = pread(segment.fd, at + done, segment.length - done, static_cast<off_t>(segment.offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return count < 0 ? errno : EIO;  // shorter than its presence says
      done += static_cast<uint64_t>(count);
    }
  }
  return 0;
}

}  // namespace

FilePtr DriveCore::AttachLocked(KernelNode& kernel_node, uint64_t version, ContentPtr base) {
  const Entry* known = entries_.FindNode(kernel_node.node);
  Entry entry = known != nullptr ? *known : Entry{};
  entry.node = kernel_node.node;
  entry.version = version;
  auto file = std::make_shared<File>(next_file_++, kernel_node.node, version, std::move(base), std::move(entry), settings_);
  file->kernel_id = kernel_node.id;
  kernel_node.file = file;
  files_.emplace(file->id, file);
  return file;
}

Handle* DriveCore::AddHandleLocked(const FilePtr& file, int flags, bool keeps_cache) {
  auto handle = std::make_unique<Handle>();
  handle->file = file;
  handle->can_write = WantsWrite(flags);
  handle->confirms_pages = !keeps_cache;
  ++file->handles;
  if (handle->can_write) ++file->writers;
  handles_.insert(handle.get());
  return handle.release();
}

void DriveCore::ConfirmPages(Handle* handle) {
  if (!handle->confirms_pages.load(std::memory_order_relaxed) || !handle->confirms_pages.exchange(false)) return;
  std::lock_guard lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(handle->file->kernel_id);
  if (kernel_node == nullptr || kernel_node->file != handle->file) return;
  kernel_node->has_pages = true;
  kernel_node->pages_version = handle->file->GetState().version;
}

FilePtr DriveCore::FileToShareLocked(KernelNode& kernel_node, uint64_t version, int64_t now_ms, bool* is_stale) {
  const FilePtr& file = kernel_node.file;
  *is_stale = false;
  if (file != nullptr && IsShared(*file)) return file;
  const bool is_same = file == nullptr || file->GetState().version == version;
  if (is_same && kernel_node.told_version == version) return file;
  // The kernel knows another size, or shares pages with an older handle. After one retry what there is has to do: the program looked the
  // name up before this change came, so it may have either version.
  if (kernel_node.retry == KernelNode::Retry::kLookedUp || now_ms < kernel_node.looked_up_until_ms) return file;
  kernel_node.retry = KernelNode::Retry::kAsked;
  answered_stale_ms_ = now_ms;
  *is_stale = true;
  return nullptr;
}

void DriveCore::FinishOpen(std::unique_lock<std::mutex> lock, const ReplyPtr& reply, KernelNode& kernel_node, FilePtr file, int flags) {
  const bool keeps_cache = kernel_node.has_pages && kernel_node.pages_version == file->GetState().version;
  kernel_node.has_pages = keeps_cache;
  kernel_node.retry = KernelNode::Retry::kNone;
  Handle* handle = AddHandleLocked(file, flags, keeps_cache);
  lock.unlock();
  if ((flags & O_TRUNC) != 0) file->Truncate(0, host_->NowWallNs());
  if (!reply->Opened(handle, keeps_cache)) Release(handle);
}

void DriveCore::Open(ReplyPtr reply, uint64_t id, int flags) {
  if (WantsWrite(flags) && settings_.is_read_only) return reply->Error(EROFS);
  std::unique_lock lock(mutex_);
  const int64_t now_ms = host_->NowBootMs();
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr || IsStaleLocked(*kernel_node, now_ms)) {
    lock.unlock();
    return reply->Error(ESTALE);
  }
  const Entry* entry = entries_.FindNode(kernel_node->node);
  const bool is_known = entry != nullptr && HasLease(now_ms);
  bool is_stale = false;
  FilePtr file = kernel_node->file;
  if (file == nullptr || !IsShared(*file)) {
    file = is_known ? FileToShareLocked(*kernel_node, entry->version, now_ms, &is_stale) : nullptr;
  }
  if (is_stale) {
    lock.unlock();
    return reply->Error(ESTALE);
  }
  if (file == nullptr && is_known) {
    ContentPtr content = contents_.FindVersion(kernel_node->node, entry->version);
    if (content != nullptr || entry->size_bytes == 0) file = AttachLocked(*kernel_node, entry->version, std::move(content));
  }
  if (file != nullptr) {
    CountNative(Op::kOpen);
    return FinishOpen(std::move(lock), reply, *kernel_node, std::move(file), flags);
  }
  Message message;
  message.op = Op::kOpen;
  message.node = kernel_node->node;
  lock.unlock();
  message.wants_write = WantsWrite(flags);
  message.truncates = (flags & O_TRUNC) != 0;
  AskAgent(reply, std::move(message), [this, reply, id, flags](const Answer& answer) { OnOpened(reply, id, flags, answer); });
}

void DriveCore::OnOpened(const ReplyPtr& reply, uint64_t id, int flags, const Answer& answer) {
  if (answer.error != 0) return reply->Error(answer.error == ENOENT ? ESTALE : answer.error);
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  bool is_stale = kernel_node == nullptr;
  FilePtr file;
  if (!is_stale) file = FileToShareLocked(*kernel_node, answer.version, host_->NowBootMs(), &is_stale);
  if (is_stale) {
    lock.unlock();
    return reply->Error(ESTALE);
  }
  if (file == nullptr) {
    ContentPtr content = answer.content == 0 ? nullptr : contents_.Find(answer.content);
    if (answer.content != 0 && content == nullptr) {
      lock.unlock();
      return reply->Error(EIO);
    }
    file = AttachLocked(*kernel_node, answer.version, std::move(content));
  }
  FinishOpen(std::move(lock), reply, *kernel_node, std::move(file), flags);
}

void DriveCore::Create(ReplyPtr reply, uint64_t folder_id, std::string_view name, uint32_t mode, int flags) {
  if (settings_.is_read_only) return reply->Error(EROFS);
  if (const int error = CheckName(name); error != 0) return reply->Error(error);
  std::unique_lock lock(mutex_);
  KernelNode* folder = nodes_.Find(folder_id);
  if (folder == nullptr) {
    lock.unlock();
    return reply->Error(ESTALE);
  }
  const uint64_t node = folder->node;
  lock.unlock();
  Message message;
  message.op = Op::kCreate;
  message.folder = node;
  message.name = name;
  message.mode = mode & 07777;
  message.is_exclusive = (flags & O_EXCL) != 0;
  AskAgent(reply, std::move(message), [this, reply, node, flags, name = std::string(name)](const Answer& answer) {
    // Somebody was first: on ESTALE the kernel looks the name up again and opens what it finds.
    if (answer.error == EEXIST && (flags & O_EXCL) == 0) return reply->Error(ESTALE);
    if (answer.error != 0) return reply->Error(answer.error);
    std::unique_lock lock(mutex_);
    const EntryTable::Found found = entries_.Find(node, name);
    if (found.known != EntryTable::Known::kBound || found.entry->node != answer.node) {
      lock.unlock();
      return reply->Error(EIO);
    }
    EntryAnswer entry = GiveEntryLocked(found, true);
    entry.attribute_timeout_ms = 0;
    KernelNode& kernel_node = *nodes_.Find(entry.id);
    kernel_node.told_version = answer.version;
    FilePtr file = kernel_node.file;
    if (file == nullptr) file = AttachLocked(kernel_node, answer.version, nullptr);
    Handle* handle = AddHandleLocked(file, flags, true);
    kernel_node.retry = KernelNode::Retry::kNone;
    kernel_node.has_pages = true;  // none at all
    kernel_node.pages_version = answer.version;
    lock.unlock();
    if (reply->Created(entry, handle)) return;
    Release(handle);
    UndoLookup(entry.id);
  });
}

void DriveCore::Read(ReplyPtr reply, Handle* handle, uint64_t offset, size_t size) {
  ConfirmPages(handle);
  const uint64_t next = handle->next_offset.load(std::memory_order_relaxed);
  uint64_t run = handle->run_bytes.load(std::memory_order_relaxed);
  const bool goes_on = offset + kRunSlack >= next && offset <= next + kRunSlack;
  run = goes_on ? run + size : size;
  handle->run_bytes.store(run, std::memory_order_relaxed);
  handle->next_offset.store(std::max(goes_on ? next : 0, offset + size), std::memory_order_relaxed);
  const uint64_t ahead = run >= kAheadFrom ? std::min(run, kAheadMax) : 0;
  CountNative(Op::kRead);
  ReadFile(reply, handle->file, offset, size, ahead, kNeverMissed);
}

// `last_missing`: what was absent when the agent last said that it had come, so that a wrong answer ends in EIO, not in a loop.
void DriveCore::ReadFile(const ReplyPtr& reply, const FilePtr& file, uint64_t offset, size_t size, uint64_t ahead,
                         uint64_t last_missing) {
  const File::Plan plan = file->PlanRead(offset, size);
  if (plan.missing_end != 0) {
    if (plan.missing_offset == last_missing) return reply->Error(EIO);
    return FetchMissing(reply, file, plan, offset, size, ahead);
  }
  char* buffer = ReadBuffer(plan.size_bytes);
  if (const int error = ReadSegments(plan, offset, buffer); error != 0) return reply->Error(error);
  read_bytes_.fetch_add(plan.size_bytes, std::memory_order_relaxed);
  reply->Data(buffer, plan.size_bytes);
}

void DriveCore::FetchMissing(const ReplyPtr& reply, const FilePtr& file, const File::Plan& plan, uint64_t offset, size_t size,
                             uint64_t ahead) {
  const ContentPtr content = plan.base;
  const uint64_t missing = plan.missing_offset;
  const uint64_t waiter = requests_.NewId();
  auto resume = [this, reply, file, offset, size, ahead, missing](const Answer& answer) {
    if (answer.error != 0) return reply->Error(answer.error);
    host_->Post([this, reply, file, offset, size, ahead, missing] { ReadFile(reply, file, offset, size, ahead, missing); });
  };
  auto abandon = [this, content, waiter](bool was_interrupted) {
    if (const uint64_t ask = content->LeaveFetch(waiter); ask != 0) requests_.DropAsk(ask, was_interrupted);
  };
  if (!requests_.Wait(waiter, {reply, requests_.DeadlineOf(Op::kFetch), resume, abandon})) return reply->Error(EIO);
  const uint64_t ask = requests_.NewId();
  bool is_present = false;
  const bool has_joined = content->JoinFetch(missing, plan.missing_end, waiter, ask, &is_present);
  if (is_present) {
    requests_.Resume(waiter, {});
    return;
  }
  if (!has_joined) {
    CountPassed(Op::kFetch);
    Message message;
    message.id = ask;
    message.op = Op::kFetch;
    message.caller = reply->GetCaller();
    message.content = content->id;
    message.offset = missing;
    message.length = plan.missing_end - missing;
    message.ahead = plan.missing_end >= content->size_bytes ? 0 : std::min(ahead, content->size_bytes - plan.missing_end);
    requests_.Ask(std::move(message), [this, content, ask](const Answer& answer) {
      for (const uint64_t waiting : content->EndFetch(ask)) requests_.Resume(waiting, answer);
    });
  }
  requests_.Release(waiter);
}

void DriveCore::Write(ReplyPtr reply, Handle* handle, uint64_t offset, const char* data, size_t size) {
  size_t written = 0;
  const int error = handle->file->Write(data, size, offset, host_->NowWallNs(), &written);
  CountNative(Op::kWrite);
  if (error != 0) return reply->Error(error);
  written_bytes_.fetch_add(written, std::memory_order_relaxed);
  reply->Written(written);
}

void DriveCore::Allocate(ReplyPtr reply, Handle* handle, int mode, uint64_t offset, uint64_t length) {
  reply->Error(handle->file->Allocate(mode, offset, length, host_->NowWallNs()));
}

void DriveCore::Flush(ReplyPtr reply, Handle* handle) {
  CountNative(Op::kFlush);
  ConfirmPages(handle);
  if (!handle->can_write) return reply->Error(0);
  Commit(reply, handle->file, CommitReason::kFlush, requests_.DeadlineOf(Op::kCommit), 1, [reply](int error) { reply->Error(error); });
}

void DriveCore::Fsync(ReplyPtr reply, Handle* handle) {
  CountNative(Op::kFsync);
  Commit(reply, handle->file, CommitReason::kFsync, requests_.DeadlineOf(Op::kCommit), 1, [reply](int error) { reply->Error(error); });
}

void DriveCore::Commit(const ReplyPtr& reply, const FilePtr& file, CommitReason reason, int64_t deadline_ms, int round,
                       std::function<void(int)> done) {
  if (!file->NeedsCommit() && !file->IsCommitting()) return done(0);
  {
    std::unique_lock lock(mutex_);
    if (file->is_removed) {
      lock.unlock();
      return done(0);
    }
    file->has_failed = false;
  }
  auto is_sender = std::make_shared<std::atomic<bool>>(false);
  const uint64_t waiter = reply != nullptr ? requests_.NewId() : 0;
  if (waiter != 0) {
    auto resume = [this, reply, file, reason, deadline_ms, round, done, is_sender](const Answer& answer) {
      // A commit that began before this request may lack what it has to save, and its failure is not ours; one that began later has all.
      const bool has_all = is_sender->load() || round > 1;
      if (answer.is_given_up || has_all) return done(answer.error);
      host_->Post([=, this] { Commit(reply, file, reason, deadline_ms, round + 1, done); });
    };
    auto abandon = [this, file, waiter](bool was_interrupted) {
      uint64_t commit = 0;
      const bool is_last = file->LeaveCommit(waiter, &commit);
      if (is_last && was_interrupted) requests_.Tell({Notice::kInterrupted, commit, 0, {}});
    };
    if (!requests_.Wait(waiter, {reply, deadline_ms, resume, abandon})) return done(EIO);
  }
  Message message;
  message.id = requests_.NewId();
  message.reason = reason;
  if (reply != nullptr) message.caller = reply->GetCaller();
  const File::CommitStep step = file->BeginCommit(&message, waiter, [&] {
    is_sender->store(true);
    CountPassed(Op::kCommit);
    requests_.Ask(std::move(message), [this, file](const Answer& answer) { OnCommitted(file, answer); });
  });
  if (waiter == 0) return;
  if (step == File::CommitStep::kClean) {
    is_sender->store(true);
    requests_.Resume(waiter, {});
  } else {
    requests_.Release(waiter);
  }
}

void DriveCore::OnCommitted(const FilePtr& file, const Answer& answer) {
  std::vector<uint64_t> waiters;
  {
    std::lock_guard lock(mutex_);
    waiters = file->EndCommit(answer);
    file->has_failed = answer.error != 0;
    KernelNode* kernel_node = nodes_.Find(file->kernel_id);
    if (answer.error == 0 && kernel_node != nullptr && kernel_node->file == file) {
      // The kernel's pages and size are this file's, so they are of the new version.
      kernel_node->told_version = answer.version;
      if (kernel_node->has_pages) kernel_node->pages_version = answer.version;
      file->entry.version = answer.version;
    }
  }
  for (const uint64_t waiter : waiters) requests_.Resume(waiter, answer);
  host_->Post([this, file] { Finish(file); });
}

void DriveCore::Release(Handle* handle) {
  ConfirmPages(handle);
  const FilePtr file = handle->file;
  {
    std::lock_guard lock(mutex_);
    handles_.erase(handle);
    --file->handles;
    if (handle->can_write) --file->writers;
    file->has_failed = false;
  }
  delete handle;
  CountNative(Op::kRelease);
  Finish(file);
}

void DriveCore::Finish(const FilePtr& file) {
  std::unique_lock lock(mutex_);
  if (file->has_ended || file->writers > 0) return;
  if (file->NeedsCommit() && !file->IsCommitting() && !file->has_failed && !file->is_removed) {
    lock.unlock();
    return Commit(nullptr, file, CommitReason::kRelease, 0, 1, [](int) {});
  }
  if (file->handles > 0 || file->IsCommitting()) return;
  file->has_ended = true;
  files_.erase(file->id);
  if (KernelNode* kernel_node = nodes_.Find(file->kernel_id); kernel_node != nullptr && kernel_node->file == file) {
    // What was lost here was in the kernel's pages too.
    if (file->NeedsCommit()) kernel_node->has_pages = false;
    kernel_node->file = nullptr;
    nodes_.Settle(*kernel_node);
  }
  lock.unlock();
  requests_.Tell({Notice::kClosed, file->id, file->node, {}});
}

}  // namespace runnel::drive
