// Opening and creating files: natively when the table knows the version and its content is here, else by asking the
// agent.
#include <fcntl.h>

#include <algorithm>

#include "drive_core.h"

namespace runnel::drive {
namespace {

bool WantsWrite(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

}  // namespace

FilePtr DriveCore::AttachLocked(KernelNode& kernel_node, uint64_t version, ContentPtr base) {
  const Entry* known = entries_.FindNode(kernel_node.node);
  if (known == nullptr) known = kernel_node.rare().removed.get();
  Entry entry = known != nullptr ? *known : Entry{};
  entry.node = kernel_node.node;
  entry.version = version;
  auto file =
      std::make_shared<File>(next_file_++, kernel_node.node, version, std::move(base), std::move(entry), settings_);
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
  KernelNode::Rare& rare = kernel_node->MakeRare();
  rare.has_pages = true;
  rare.pages_version = handle->file->GetState().version;
}

FilePtr DriveCore::FileToShareLocked(KernelNode& kernel_node, uint64_t version, Try which, int64_t now_ms,
                                     bool* is_stale) {
  const FilePtr& file = kernel_node.file;
  *is_stale = false;
  if (file != nullptr && IsShared(*file, version)) return file;
  const bool is_same = file == nullptr || file->GetState().version == version;
  if (is_same && kernel_node.WasToldOnly(version)) return file;
  // The kernel may know another size, or shares pages with an older handle. After one retry what there is has to do:
  // the program looked the name up before this change came, so it may have either version.
  const KernelNode::Rare& rare = kernel_node.rare();
  const bool was_looked_up = rare.retry == KernelNode::Rare::Retry::kLookedUp || now_ms < rare.looked_up_until_ms;
  if (which == Try::kSecond || (which == Try::kPerhapsSecond && was_looked_up)) return file;
  kernel_node.MakeRare().retry = KernelNode::Rare::Retry::kAsked;
  answered_stale_ms_ = now_ms;
  *is_stale = true;
  return nullptr;
}

void DriveCore::FinishOpen(std::unique_lock<std::mutex> lock, const ReplyPtr& reply, KernelNode& kernel_node,
                           FilePtr file, int flags) {
  const int32_t thread = reply->GetCaller().pid;
  KernelNode::Rare& rare = kernel_node.MakeRare();
  const bool keeps_cache = rare.has_pages && rare.pages_version == file->GetState().version;
  rare.has_pages = keeps_cache;
  rare.retry = KernelNode::Rare::Retry::kNone;
  if ((flags & O_ACCMODE) != O_WRONLY && file->GetState().size_bytes > 0) last_read_.Note(thread, file->node);
  Handle* handle = AddHandleLocked(file, flags, keeps_cache);
  lock.unlock();
  const auto give = [this, reply, handle, keeps_cache] {
    if (!reply->Opened(handle, keeps_cache)) Release(handle);
  };
  if ((flags & O_TRUNC) == 0) return give();
  file->InTurn([this, file] { file->Cut(0, front_->NowWallNs()); }, give);
}

// After an ESTALE the kernel walks the path once more. When no lookup comes before the OPEN that follows, there is no
// name on the way: what is opened anew is an open file (/proc/self/fd), whatever its name leads to by now. Several
// threads may be sent back at once: each is served when it comes again, for it gets no third try.
DriveCore::Try DriveCore::TakeTryLocked(uint64_t id, int32_t thread, int64_t now_ms) {
  const auto at = asked_.find(thread);
  if (at == asked_.end()) return thread == 0 || asked_.size() >= kAskedMax ? Try::kPerhapsSecond : Try::kFirst;
  const Asked asked = at->second;
  asked_.erase(at);
  if (asked.id == id && now_ms < asked.until_ms) return Try::kSecond;
  // It may have been given what another thread has looked up at the same time.
  return now_ms < asked.until_ms + kRetryMs ? Try::kPerhapsSecond : Try::kFirst;
}

void DriveCore::NoteAskedLocked(uint64_t id, int32_t thread, int64_t now_ms) {
  const KernelNode* kernel_node = nodes_.Find(id);
  second_tries_.NoteSentBack(thread, kernel_node == nullptr ? 0 : kernel_node->node, front_->NowKernelMs());
  if (thread == 0) return;
  if (asked_.size() >= kAskedMax)
    std::erase_if(asked_, [now_ms](const auto& each) { return each.second.until_ms <= now_ms; });
  if (asked_.size() < kAskedMax) asked_[thread] = {id, now_ms + kRetryOpenMs};
}

void DriveCore::NoteLookedUpLocked(uint64_t folder, std::string_view name, uint64_t id, int32_t thread) {
  const KernelNode* found = nodes_.Find(id);
  if (found != nullptr) second_tries_.NoteFound(thread, folder, name, found->node, front_->NowKernelMs());
  const auto at = asked_.find(thread);
  if (at != asked_.end()) at->second = {id, front_->NowBootMs() + kRetryOpenMs};
}

void DriveCore::Open(ReplyPtr reply, uint64_t id, int flags) {
  if (WantsWrite(flags) && settings_.is_read_only) return reply->Error(Kind::kReadOnly);
  std::unique_lock lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  KernelNode* kernel_node = nodes_.Find(id);
  const int32_t thread = reply->GetCaller().pid;
  Try which = TakeTryLocked(id, thread, now_ms);
  SecondTries::Answer way = SecondTries::Answer::kServe;
  // That may have been noted of a walk which ended without a request.
  if (kernel_node != nullptr) way = JudgeLocked({.node = kernel_node->node}, SecondTries::Step::kLast, thread, now_ms);
  if (way == SecondTries::Answer::kServeSecond) which = Try::kSecond;
  if (kernel_node == nullptr || way == SecondTries::Answer::kSendBack ||
      (which != Try::kSecond && IsNameStaleLocked(*kernel_node, thread, now_ms))) {
    NoteAskedLocked(id, thread, now_ms);
    return Refuse(&lock, reply, Kind::kStale);
  }
  OpenWith(std::move(lock), reply, id, flags, which);
}

void DriveCore::OpenAgain(const ReplyPtr& reply, uint64_t id, int flags, Try which) {
  OpenWith(std::unique_lock(mutex_), reply, id, flags, which);
}

void DriveCore::OpenWith(std::unique_lock<std::mutex> lock, const ReplyPtr& reply, uint64_t id, int flags, Try which) {
  const int64_t now_ms = front_->NowBootMs();
  const int32_t thread = reply->GetCaller().pid;
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const uint64_t node = kernel_node->node;
  if (kernel_node->file == nullptr && WaitsForCut(&lock, reply, node, Op::kOpen, [this, reply, id, flags, which] {
        OpenAgain(reply, id, flags, which);
      }))
    return;
  const Entry* entry = entries_.FindNode(node);
  if (entry == nullptr) entry = RemovedLocked(*kernel_node, now_ms);
  const bool is_known = entry != nullptr && HasLease(now_ms);
  bool is_stale = false;
  FilePtr file;
  if (is_known) {
    file = FileToShareLocked(*kernel_node, entry->version, which, now_ms, &is_stale);
  } else if (kernel_node->file != nullptr && IsShared(*kernel_node->file, kernel_node->file->GetState().version)) {
    file = kernel_node->file;
  }
  if (is_stale) {
    NoteAskedLocked(id, thread, now_ms);
    return Refuse(&lock, reply, Kind::kStale);
  }
  if (file == nullptr && is_known) {
    ContentPtr content = contents_.FindVersion(node, entry->version);
    if (content != nullptr || entry->size_bytes == 0)
      file = AttachLocked(*kernel_node, entry->version, std::move(content));
  }
  if (file != nullptr) {
    CountNative(Op::kOpen);
    return FinishOpen(std::move(lock), reply, *kernel_node, std::move(file), flags);
  }
  Message message = {
      .op = Op::kOpen, .node = node, .wants_write = WantsWrite(flags), .truncates = (flags & O_TRUNC) != 0};
  const uint64_t begun = cuts_.BeginOpen(node);
  lock.unlock();
  AskAgent(reply, std::move(message), [this, reply, id, node, begun, flags, which](const Answer& answer) {
    std::unique_lock held(mutex_);
    const bool was_cut = cuts_.EndOpen(node, begun);
    held.unlock();
    if (!was_cut || answer.error != Kind::kNone) return OnOpened(reply, id, flags, which, answer);
    OpenAgain(reply, id, flags, which);
  });
}

void DriveCore::OnOpened(const ReplyPtr& reply, uint64_t id, int flags, Try which, const Answer& answer) {
  if (answer.error == Kind::kNotFound || answer.error == Kind::kStale) return ReplyStale(reply);
  if (answer.error != Kind::kNone) return reply->Error(answer.error);
  std::unique_lock lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  KernelNode* kernel_node = nodes_.Find(id);
  bool is_stale = kernel_node == nullptr;
  FilePtr file;
  if (!is_stale) file = FileToShareLocked(*kernel_node, answer.version, which, now_ms, &is_stale);
  if (is_stale) {
    NoteAskedLocked(id, reply->GetCaller().pid, now_ms);
    return Refuse(&lock, reply, Kind::kStale);
  }
  if (file == nullptr) {
    ContentPtr content = answer.content == 0 ? nullptr : contents_.Find(answer.content);
    if (answer.content != 0 && content == nullptr) return Refuse(&lock, reply, Kind::kIo);
    file = AttachLocked(*kernel_node, answer.version, std::move(content));
  }
  FinishOpen(std::move(lock), reply, *kernel_node, std::move(file), flags);
}

void DriveCore::Create(ReplyPtr reply, uint64_t folder_id, std::string_view name, uint32_t mode, int flags) {
  if (const Kind error = CheckChange(name); error != Kind::kNone) return reply->Error(error);
  const uint64_t node = FolderToChange(reply, folder_id, name);
  if (node == 0) return;
  Message message = {.op = Op::kCreate,
                     .folder = node,
                     .name = std::string(name),
                     .is_exclusive = (flags & O_EXCL) != 0,
                     .mode = mode & 07777};
  AskAgent(reply, std::move(message), [this, reply, node, flags, name = std::string(name)](const Answer& answer) {
    // Somebody was first: on ESTALE the kernel looks the name up again and opens what it finds.
    if (answer.error == Kind::kExists && (flags & O_EXCL) == 0) return ReplyStale(reply);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    std::unique_lock lock(mutex_);
    EntryTable::Found found = entries_.Find(node, name);
    EntryTable::Binding taken;
    if (found.known != EntryTable::Known::kBound || found.entry->node != answer.node) {
      // Another client has taken the name since: the program works on with the file that it made (POSIX), and the
      // kernel keeps nothing of the name.
      taken.changed_ms = front_->NowBootMs();
      found = {EntryTable::Known::kBound, &taken, entries_.FindNode(answer.node)};
    }
    if (found.entry == nullptr) {
      // Another program has removed it already: this one comes again, behind that.
      lock.unlock();
      return ReplyStale(reply);
    }
    EntryAnswer entry = GiveEntryLocked(found, true);
    entry.attribute_timeout_ms = 0;
    KernelNode& kernel_node = *nodes_.Find(entry.id);
    kernel_node.Give(answer.version, 0);
    FilePtr file = kernel_node.file;
    if (file == nullptr) file = AttachLocked(kernel_node, answer.version, nullptr);
    Handle* handle = AddHandleLocked(file, flags, true);
    KernelNode::Rare& rare = kernel_node.MakeRare();
    rare.retry = KernelNode::Rare::Retry::kNone;
    rare.has_pages = true;  // none at all
    rare.pages_version = answer.version;
    lock.unlock();
    if (reply->Created(entry, handle)) return;
    Release(handle);
    UndoLookup(entry.id);
  });
}

}  // namespace runnel::drive
