// Attributes of nodes and of the whole file system.
#include <algorithm>

#include "drive_core.h"

namespace runnel::drive {

void DriveCore::GetAttributes(ReplyPtr reply, uint64_t id) {
  std::unique_lock lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  KernelNode* kernel_node = nodes_.Find(id);
  // fstat arrives without its handle, so what is open here is answered as it is open, stale or not, and any folder.
  if (kernel_node == nullptr ||
      (kernel_node->file == nullptr && IsNameStaleLocked(*kernel_node, reply->GetCaller().pid, now_ms)))
    return Refuse(&lock, reply, Kind::kStale);
  Attributes attributes;
  uint32_t timeout_ms = 0;
  if (GiveAttributesLocked(*kernel_node, HasLease(now_ms), &attributes, &timeout_ms)) {
    lock.unlock();
    CountNative(Op::kGetattr);
    return reply->Attributes(attributes, timeout_ms);
  }
  const uint64_t node = kernel_node->node;
  lock.unlock();
  AskAgent(reply, {.op = Op::kGetattr, .node = node}, [this, reply, id](const Answer& answer) {
    // The kernel knows the node, so its absence means that the name leads elsewhere now.
    if (answer.error == Kind::kNotFound || answer.error == Kind::kStale) return ReplyStale(reply);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    ReplyAttributes(reply, id);
  });
}

void DriveCore::ReplyAttributes(const ReplyPtr& reply, uint64_t id) {
  Attributes attributes;
  uint32_t timeout_ms = 0;
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  const bool is_known = kernel_node != nullptr && GiveAttributesLocked(*kernel_node, true, &attributes, &timeout_ms);
  lock.unlock();
  if (!is_known) return reply->Error(kernel_node == nullptr ? Kind::kStale : Kind::kIo);
  reply->Attributes(attributes, timeout_ms);
}

void DriveCore::SetAttributesOf(ReplyPtr reply, uint64_t id, Handle* handle, const SetAttributes& set) {
  if (settings_.is_read_only) return reply->Error(Kind::kReadOnly);
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const FilePtr file = handle != nullptr ? handle->file : kernel_node->file;
  if (file == nullptr && !IsOpenLocked(*kernel_node) &&
      IsStaleLocked(*kernel_node, reply->GetCaller().pid, front_->NowBootMs()))
    return Refuse(&lock, reply, Kind::kStale);
  if (set.sets_atime) {
    kernel_node->atime_ns = set.atime_ns;
    kernel_node->MakeRare().atime_set_ns = front_->NowWallNs();
  }
  const uint64_t node = kernel_node->node;
  if (file == nullptr && (set.set & Message::kSize) != 0) {
    // Posts it, since it may be an edit by then, which waits for its turn.
    const auto again = [=, this] { front_->Post([=, this] { SetAttributesOf(reply, id, nullptr, set); }); };
    if (WaitsForCut(&lock, reply, node, Op::kSetattr, again)) return;
    cuts_.Begin(node);
  }
  lock.unlock();
  if (file == nullptr || (set.set & Message::kSize) == 0) return SetRest(reply, id, node, file, set);
  // A file that is open here, if only for reading, is cut as an edit of it, so that its readers see what the program
  // did.
  if (handle != nullptr) SetClosing(handle, false);
  if (const Kind error = file->Truncate(set.size_bytes, front_->NowWallNs()); error != Kind::kNone)
    return reply->Error(error);
  lock.lock();
  const bool has_ended = file->has_ended;
  const bool has_writers = file->writers > 0 || file->is_removed;
  lock.unlock();
  // The last program has closed it meanwhile: nobody will commit what was cut of it.
  if (has_ended) return SetAttributesOf(reply, id, nullptr, set);
  SetAttributes rest = set;
  rest.set &= static_cast<uint8_t>(~Message::kSize);
  if (has_writers) return SetRest(reply, id, node, file, rest);
  Commit(reply, file, CommitReason::kFlush, requests_.DeadlineOf(Op::kCommit), 1,
         [this, reply, id, node, file, rest](Kind error) {
           if (error != Kind::kNone) return reply->Error(error);
           SetRest(reply, id, node, file, rest);
         });
}

void DriveCore::SetRest(const ReplyPtr& reply, uint64_t id, uint64_t node, const FilePtr& file, SetAttributes set) {
  if (file != nullptr && (set.set & Message::kMtime) != 0 && file->SetMtimeIfDirty(set.mtime_ns, front_->NowWallNs())) {
    set.set &= static_cast<uint8_t>(~Message::kMtime);
  }
  {
    std::lock_guard lock(mutex_);
    if (file != nullptr && file->is_removed) {  // nobody else can see it
      Entry& entry = file->entry;
      if (set.set & Message::kMode) entry.mode = set.mode & 07777;
      if (set.set & Message::kUid) entry.uid = set.uid;
      if (set.set & Message::kGid) entry.gid = set.gid;
      if (set.set & Message::kMtime) file->SetMtime(set.mtime_ns);
      entry.ctime_ns = front_->NowWallNs();
      set.set = 0;
    }
  }
  if (set.set == 0) {
    CountNative(Op::kSetattr);
    return GetAttributes(reply, id);
  }
  const bool is_cut = (set.set & Message::kSize) != 0;
  const uint64_t allocated_bytes = is_cut ? AllocatedBefore(id) : 0;
  Message message = {.op = Op::kSetattr,
                     .node = node,
                     .mode = set.mode & 07777,
                     .uid = set.uid,
                     .gid = set.gid,
                     .mtime_ns = set.mtime_ns,
                     .size_bytes = set.size_bytes,
                     .set = set.set};
  AskAgent(reply, std::move(message),
           [this, reply, id, node, file, set, is_cut, allocated_bytes](const Answer& answer) {
             if (answer.error != Kind::kNone) {
               reply->Error(answer.error);
             } else {
               if (is_cut) KeepAllocated(id, set.size_bytes, allocated_bytes);
               if (file != nullptr && (set.set & Message::kMtime) != 0) file->SetMtime(set.mtime_ns);
               ReplyAttributes(reply, id);
             }
             if (is_cut) EndCut(node);
           });
}

bool DriveCore::WaitsForCut(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, uint64_t node, Op op,
                            std::function<void()> then) {
  if (!cuts_.IsUnderWay(node)) return false;
  lock->unlock();
  const uint64_t waiter = requests_.NewId();
  auto resume = [reply, then = std::move(then)](const Answer& answer) {
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    then();
  };
  auto abandon = [this, node, waiter](bool) {
    std::lock_guard held(mutex_);
    cuts_.Leave(node, waiter);
  };
  if (!requests_.Wait(waiter, {reply, requests_.DeadlineOf(op), resume, abandon})) {
    reply->Error(Kind::kIo);
    return true;
  }
  lock->lock();
  const bool has_joined = cuts_.Join(node, waiter);
  lock->unlock();
  if (has_joined) {
    requests_.Release(waiter);
  } else {
    requests_.Resume(waiter, {});
  }
  return true;
}

void DriveCore::EndCut(uint64_t node) {
  std::unique_lock lock(mutex_);
  const std::vector<uint64_t> waiters = cuts_.End(node);
  lock.unlock();
  for (const uint64_t waiter : waiters) requests_.Resume(waiter, {});
}

uint64_t DriveCore::AllocatedBefore(uint64_t id) {
  std::lock_guard lock(mutex_);
  const KernelNode* kernel_node = nodes_.Find(id);
  const Entry* entry = kernel_node == nullptr ? nullptr : entries_.FindNode(kernel_node->node);
  return entry == nullptr ? 0 : AllocatedLocked(*kernel_node, *entry, entry->size_bytes);
}

void DriveCore::KeepAllocated(uint64_t id, uint64_t size_bytes, uint64_t allocated_bytes) {
  std::lock_guard lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  const Entry* entry = kernel_node == nullptr ? nullptr : entries_.FindNode(kernel_node->node);
  if (entry == nullptr || entry->size_bytes != size_bytes) return;
  // The kernel cuts its own pages and size, and drops no answer to that.
  kernel_node->GiveOwn(entry->version, size_bytes);
  KernelNode::Rare& rare = kernel_node->MakeRare();
  rare.allocated_version = entry->version;
  rare.allocated_bytes = std::min(allocated_bytes, WholeBlocks(size_bytes));
}

void DriveCore::ReadLink(ReplyPtr reply, uint64_t id) {
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr || IsPathStaleLocked({.node = kernel_node->node}, SecondTries::Step::kReadLink,
                                                  reply->GetCaller().pid, front_->NowBootMs()))
    return Refuse(&lock, reply, Kind::kStale);
  const uint64_t node = kernel_node->node;
  const Entry* entry = entries_.FindNode(node);
  if (entry != nullptr && HasLease(front_->NowBootMs())) {
    const std::string target = entry->target;
    lock.unlock();
    CountNative(Op::kReadlink);
    return reply->Target(target);
  }
  lock.unlock();
  AskAgent(reply, {.op = Op::kGetattr, .node = node}, [this, reply, node](const Answer& answer) {
    if (answer.error == Kind::kNotFound || answer.error == Kind::kStale) return ReplyStale(reply);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    std::unique_lock lock(mutex_);
    const Entry* entry = entries_.FindNode(node);
    if (entry == nullptr) return Refuse(&lock, reply, Kind::kIo);
    const std::string target = entry->target;
    lock.unlock();
    reply->Target(target);
  });
}

void DriveCore::StatFilesystem(ReplyPtr reply) {
  AskAgent(reply, {.op = Op::kStatfs}, [reply](const Answer& answer) {
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    reply->Filesystem(answer.space);
  });
}

}  // namespace runnel::drive
