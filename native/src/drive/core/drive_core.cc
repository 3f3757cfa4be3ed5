#include "drive_core.h"

#include <algorithm>
#include <iterator>

#include "src/file/name_text.h"

namespace runnel::drive {

namespace {

// S_IFREG and so on of Linux, in the order of FileType.
constexpr uint32_t kModes[] = {0100000, 0040000, 0120000, 0010000, 0140000, 0060000, 0020000};
constexpr uint32_t kTypeMask = 0170000;

}  // namespace

uint32_t ModeOf(FileType type) { return kModes[static_cast<size_t>(type)]; }

FileType TypeOf(uint32_t mode) {
  for (size_t i = 0; i < std::size(kModes); ++i) {
    if (kModes[i] == (mode & kTypeMask)) return static_cast<FileType>(i);
  }
  return FileType::kFile;
}

const char* NameOf(Op op) {
  static constexpr const char* kNames[] = {"lookup",   "getattr", "list",     "open",   "create", "make",   "link",
                                           "remove",   "rename",  "setattr",  "fetch",  "commit", "statfs", "xattrs",
                                           "setxattr", "sync",    "readlink", "read",   "write",  "flush",  "fsync",
                                           "release",  "opendir", "readdir",  "forget", "seek"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kOps);
  return kNames[static_cast<size_t>(op)];
}

DriveCore::DriveCore(Front* front, CoreSettings settings)
    : front_(front),
      settings_(std::move(settings)),
      requests_(front, settings_),
      entries_(settings_.root_node, settings_.entries_max),
      nodes_(settings_.root_node) {}

void DriveCore::AskAgent(const ReplyPtr& reply, Message message, Resume resume) {
  if (Answer early; AnswersEarly(reply, message, &early)) return resume(early);
  CountPassed(message.op);
  const uint64_t id = requests_.NewId();
  message.id = id;
  message.caller = reply->GetCaller();
  RequestTable::Waiter waiter{reply, requests_.DeadlineOf(message.op), resume,
                              [this, id](bool was_interrupted) { requests_.DropAsk(id, was_interrupted); }};
  if (!requests_.Wait(id, std::move(waiter))) {
    Answer answer;
    answer.error = Kind::kIo;
    answer.is_given_up = true;
    return resume(answer);
  }
  const bool overtakes = MayOvertake(message);
  requests_.Ask(
      std::move(message), [this, id](const Answer& answer) { requests_.Resume(id, answer); }, overtakes);
  requests_.Release(id);
}

void DriveCore::Refuse(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, Kind error) {
  lock->unlock();
  reply->Error(error);
}

uint64_t DriveCore::FolderToChange(const ReplyPtr& reply, uint64_t id, std::string_view name) {
  std::unique_lock lock(mutex_);
  const KernelNode* folder = nodes_.Find(id);
  if (folder != nullptr && !IsPathStaleLocked({.folder = folder->node, .name = name}, SecondTries::Step::kLast,
                                              reply->GetCaller().pid, front_->NowBootMs()))
    return folder->node;
  Refuse(&lock, reply, Kind::kStale);
  return 0;
}

Kind DriveCore::CheckName(std::string_view name) {
  if (name.size() > kNameBytesMax) return Kind::kNameTooLong;
  return name.empty() ? Kind::kInvalid : Kind::kNone;
}

// Returns true when what the kernel has by that id may be of a version with another size: pages, size and stat must not
// mix. Who writes shares his file with everybody; who has one that was removed here, or has become another file, shares
// it with nobody who finds the name again, after the removal was refused or another client gave it one.
bool DriveCore::IsOfOtherVersion(const KernelNode& kernel_node, const Entry& entry) {
  const File* file = kernel_node.file.get();
  if (file != nullptr && ((file->is_removed && entry.nlink > 0) || file->is_elsewhere)) return true;
  if (entry.type != FileType::kFile || (file != nullptr && IsShared(*file, entry.version))) return false;
  return !kernel_node.MayBeTold(entry.version, entry.size_bytes) ||
         (file != nullptr && file->GetState().version != entry.version);
}

bool DriveCore::IsShared(const File& file, uint64_t version) {
  const File::State state = file.GetState();
  const bool is_written = file.writers > file.closing || (file.writers > 0 && state.version == version);
  return is_written || file.is_removed || state.is_dirty;
}

// Returns true when a request by id reached a binding that has changed and that the kernel may still hold: it is to
// look the name up again. So it is where the kernel may have found the name itself and the lease is over under which it
// was given: the machine slept, or the connection was lost.
bool DriveCore::IsNameStaleLocked(KernelNode& kernel_node, int32_t thread, int64_t now_ms) {
  const int64_t stale_until_ms = kernel_node.rare().stale_until_ms;
  const int64_t until_ms = HasLease(now_ms) ? stale_until_ms : std::max(stale_until_ms, kernel_node.named_until_ms);
  if (until_ms <= front_->NowKernelMs() || kernel_node.rare().retry == KernelNode::Rare::Retry::kLookedUp) return false;
  if (TakeTryLocked(kernel_node.id, thread, now_ms) == Try::kSecond) return false;
  kernel_node.MakeRare().retry = KernelNode::Rare::Retry::kAsked;
  answered_stale_ms_ = now_ms;
  NoteAskedLocked(kernel_node.id, thread, now_ms);
  return true;
}

bool DriveCore::IsStaleLocked(KernelNode& kernel_node, int32_t thread, int64_t now_ms) {
  const SecondTries::Answer answer = JudgeLocked({.node = kernel_node.node}, SecondTries::Step::kLast, thread, now_ms);
  if (answer == SecondTries::Answer::kSendBack) NoteAskedLocked(kernel_node.id, thread, now_ms);
  if (answer != SecondTries::Answer::kServe) return answer == SecondTries::Answer::kSendBack;
  return !kernel_node.is_folder && IsNameStaleLocked(kernel_node, thread, now_ms);
}

SecondTries::Answer DriveCore::JudgeLocked(const SecondTries::Named& named, SecondTries::Step step, int32_t thread,
                                           int64_t now_ms) {
  const int64_t kernel_now_ms = front_->NowKernelMs();
  const bool may_outlive_lease = kernel_now_ms < folders_named_until_ms_ && !HasLease(now_ms);
  if (!may_outlive_lease && !stale_folders_.HasAny(kernel_now_ms) && second_tries_.IsEmpty())
    return SecondTries::Answer::kServe;
  bool is_doubtful = may_outlive_lease;
  for (const uint64_t node : {named.node, named.folder, named.to_folder})
    is_doubtful = is_doubtful || (node != 0 && IsBelowStaleLocked(node, kernel_now_ms));
  const SecondTries::Answer answer = second_tries_.Judge(thread, named, step, is_doubtful, kernel_now_ms);
  if (answer == SecondTries::Answer::kSendBack) answered_stale_ms_ = now_ms;
  return answer;
}

bool DriveCore::IsOpenLocked(const KernelNode& kernel_node) const {
  return kernel_node.file != nullptr ||
         std::any_of(folder_handles_.begin(), folder_handles_.end(),
                     [&kernel_node](const FolderHandle* each) { return each->id == kernel_node.id; });
}

bool DriveCore::IsBelowStaleLocked(uint64_t node, int64_t kernel_now_ms) {
  const Entry* entry = entries_.FindNode(node);
  // A file with several names may have been found in any of their folders.
  bool is_known = entry != nullptr && (entry->type == FileType::kFolder || entry->nlink == 1);
  for (size_t depth = 0; is_known && node != settings_.root_node; ++depth) {
    if (stale_folders_.Has(node, kernel_now_ms)) return true;
    node = entries_.ParentOf(node);
    is_known = node != 0 && depth < kDeepest;
  }
  return !is_known && stale_folders_.HasAny(kernel_now_ms);
}

void DriveCore::ReplyStale(const ReplyPtr& reply) {
  {
    std::lock_guard lock(mutex_);
    answered_stale_ms_ = front_->NowBootMs();
    NoteAskedLocked(0, reply->GetCaller().pid, answered_stale_ms_);
  }
  reply->Error(Kind::kStale);
}

uint32_t DriveCore::TimeoutLocked(const Entry& entry, const KernelNode& kernel_node, int64_t changed_ms,
                                  int64_t now_ms) const {
  if (entry.type != FileType::kFolder && entry.nlink != 1) return 0;
  if (now_ms - std::max(changed_ms, kernel_node.changed_ms) < kJustChangedMs) return 0;
  if (kernel_node.rare().retry != KernelNode::Rare::Retry::kNone || kernel_node.rare().looked_up_until_ms > now_ms)
    return 0;
  if (kernel_node.rare().stale_until_ms > front_->NowKernelMs()) return 0;
  if (kernel_node.file != nullptr && IsShared(*kernel_node.file, entry.version)) return 0;
  return WithinLease(now_ms);
}

uint32_t DriveCore::FolderNameTimeoutLocked(uint64_t node, int64_t changed_ms, int64_t now_ms) const {
  const bool is_stale = stale_folders_.Has(node, front_->NowKernelMs());
  return is_stale || now_ms - changed_ms < kJustChangedMs ? 0 : WithinLease(now_ms);
}

uint32_t DriveCore::WithinLease(int64_t now_ms) const {
  const int64_t left_ms = lease_until_ms_.load(std::memory_order_acquire) - now_ms;
  return static_cast<uint32_t>(std::clamp<int64_t>(left_ms, 0, settings_.kernel_timeout_ms));
}

uint64_t DriveCore::AllocatedLocked(const KernelNode& kernel_node, const Entry& entry, uint64_t size_bytes) const {
  if (entry.type != FileType::kFile) return size_bytes;
  if (kernel_node.file != nullptr) return kernel_node.file->AllocatedBytes();
  const ContentPtr content = contents_.FindVersion(entry.node, entry.version);
  const uint64_t most = WholeBlocks(size_bytes);
  if (content != nullptr) return std::min(content->AllocatedBytes(), most);
  return entry.version != 0 && kernel_node.rare().allocated_version == entry.version
             ? kernel_node.rare().allocated_bytes
             : most;
}

Attributes DriveCore::AttributesLocked(const KernelNode& kernel_node, const Entry* known) const {
  const File* file = kernel_node.file.get();
  const Entry* entry = known;
  Attributes attributes;
  if (file != nullptr) {
    const File::State state = file->GetState();
    const bool is_shared = file->writers > 0 || file->is_removed || state.is_dirty;
    const bool is_older = known == nullptr || (!is_shared && known->version != state.version);
    if (is_older || file->is_removed) entry = &file->entry;
    if (is_shared || is_older) {
      attributes.size_bytes = state.size_bytes;
      attributes.mtime_ns = state.mtime_ns;
      attributes.ctime_ns = std::max(state.ctime_ns, entry->ctime_ns);
    } else {
      file = nullptr;
    }
  }
  if (file == nullptr) {
    attributes.size_bytes = entry->type == FileType::kSymlink ? NameOfText(entry->target).size() : entry->size_bytes;
    attributes.mtime_ns = entry->mtime_ns;
    attributes.ctime_ns = entry->ctime_ns;
  }
  attributes.allocated_bytes = AllocatedLocked(kernel_node, *entry, attributes.size_bytes);
  attributes.ino = kernel_node.node;
  attributes.mode = ModeOf(entry->type) | (entry->mode & 07777);
  attributes.nlink = entry->nlink;
  attributes.uid = entry->uid;
  attributes.gid = entry->gid;
  attributes.rdev = entry->rdev;
  attributes.ctime_ns = std::max(attributes.ctime_ns, kernel_node.rare().atime_set_ns);
  attributes.atime_ns = kernel_node.atime_ns != 0 ? kernel_node.atime_ns : attributes.mtime_ns;
  return attributes;
}

EntryAnswer DriveCore::GiveEntryLocked(const EntryTable::Found& found, bool is_lookup) {
  const Entry& entry = *found.entry;
  const int64_t now_ms = front_->NowBootMs();
  KernelNode* kernel_node = &nodes_.Current(entry.node);
  if (IsOfOtherVersion(*kernel_node, entry)) kernel_node = &nodes_.Next(*kernel_node);
  ++kernel_node->lookups;
  if (is_lookup && kernel_node->rare().retry == KernelNode::Rare::Retry::kAsked)
    kernel_node->MakeRare().retry = KernelNode::Rare::Retry::kLookedUp;
  if (is_lookup && now_ms - answered_stale_ms_ < kRetryMs)
    kernel_node->MakeRare().looked_up_until_ms = now_ms + kRetryOpenMs;
  EntryAnswer answer;
  answer.id = kernel_node->id;
  answer.attributes = AttributesLocked(*kernel_node, &entry);
  kernel_node->atime_ns = answer.attributes.atime_ns;
  answer.attribute_timeout_ms = TimeoutLocked(entry, *kernel_node, found.binding->changed_ms, now_ms);
  kernel_node->is_folder = entry.type == FileType::kFolder;
  answer.entry_timeout_ms = kernel_node->is_folder
                                ? FolderNameTimeoutLocked(entry.node, found.binding->changed_ms, now_ms)
                                : answer.attribute_timeout_ms;
  kernel_node->Give(kernel_node->file != nullptr ? kernel_node->file->GetState().version : entry.version,
                    answer.attributes.size_bytes);
  const int64_t kernel_now_ms = front_->NowKernelMs();
  kernel_node->GiveTime(answer.attribute_timeout_ms, kernel_now_ms);
  if (answer.entry_timeout_ms > 0) {
    found.binding->given_until_ms = kernel_now_ms + answer.entry_timeout_ms + KernelNode::kRoundingMs;
    found.binding->given_id = kernel_node->id;
    int64_t& named_until_ms = kernel_node->is_folder ? folders_named_until_ms_ : kernel_node->named_until_ms;
    named_until_ms = std::max(named_until_ms, found.binding->given_until_ms);
  }
  return answer;
}

const Entry* DriveCore::RemovedLocked(const KernelNode& kernel_node, int64_t now_ms) const {
  return kernel_node.rare().was_removed_here || now_ms < kernel_node.rare().looked_up_until_ms
             ? kernel_node.rare().removed.get()
             : nullptr;
}

bool DriveCore::GiveAttributesLocked(KernelNode& kernel_node, bool trusts_table, Attributes* attributes,
                                     uint32_t* timeout_ms) {
  const int64_t now_ms = front_->NowBootMs();
  const Entry* entry = entries_.FindNode(kernel_node.node);
  if (kernel_node.file == nullptr && entry == nullptr && (entry = RemovedLocked(kernel_node, now_ms)) != nullptr) {
    // It is shown as it was, or as it was looked up.
  } else if (kernel_node.file == nullptr && (!trusts_table || entry == nullptr)) {
    return false;
  }
  *attributes = AttributesLocked(kernel_node, entry);
  kernel_node.atime_ns = attributes->atime_ns;
  *timeout_ms = 0;
  if (entry != nullptr && kernel_node.rare().removed == nullptr) {
    const uint64_t version = kernel_node.file != nullptr ? kernel_node.file->GetState().version : entry->version;
    if (version == entry->version) *timeout_ms = TimeoutLocked(*entry, kernel_node, EntryTable::kNeverMs, now_ms);
    kernel_node.Give(version, attributes->size_bytes);
  }
  kernel_node.GiveTime(*timeout_ms, front_->NowKernelMs());
  return true;
}

void DriveCore::Invalidated(uint64_t id, uint64_t mark) {
  std::lock_guard lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr || kernel_node->rare().stale_mark != mark) return;
  // A program that has found the name before may still come with its id.
  int64_t& until_ms = kernel_node->MakeRare().stale_until_ms;
  until_ms = std::min(until_ms, front_->NowKernelMs() + kFoundBeforeMs);
}

bool DriveCore::PathOf(uint64_t folder, std::vector<std::string>* names) {
  names->clear();
  std::lock_guard lock(mutex_);
  while (folder != settings_.root_node) {
    std::string name;
    const uint64_t parent = entries_.ParentOf(folder);
    if (parent == 0 || names->size() == kDeepest || !entries_.NameOf(parent, folder, &name)) return false;
    names->push_back(std::move(name));
    folder = parent;
  }
  std::reverse(names->begin(), names->end());
  return true;
}

void DriveCore::ReleaseAll() {
  std::vector<Handle*> handles;
  std::vector<FolderHandle*> folders;
  {
    std::lock_guard lock(mutex_);
    handles.assign(handles_.begin(), handles_.end());
    folders.assign(folder_handles_.begin(), folder_handles_.end());
  }
  for (Handle* handle : handles) Release(handle);
  for (FolderHandle* handle : folders) ReleaseFolder(handle);
}

}  // namespace runnel::drive
