// Calls of the agent, and what follows from them for the kernel: stale marks and invalidations.
#include <algorithm>

#include "drive_core.h"
#include "src/drive/content/overlay_file.h"

namespace runnel::drive {
namespace {

constexpr size_t kPutsAtOnce = 512;

}  // namespace

void DriveCore::PutEntries(std::vector<Put> puts, bool is_changed) {
  std::vector<EntryTable::Lost> lost;
  for (size_t at = 0; at < puts.size();) {
    // The lock is taken in turns, so that a long batch blocks no program.
    std::lock_guard lock(mutex_);
    const int64_t now_ms = front_->NowBootMs();
    for (const size_t end = std::min(at + kPutsAtOnce, puts.size()); at < end; ++at) {
      Put& put = puts[at];
      if (IsHeldLocked(put.folder, put.name)) continue;
      if (!put.is_absent) MergeHeldLocked(&put.entry);
      if (is_changed) {
        PutChangedLocked(put, now_ms, &lost);
        ForgetTakenLocked(put.folder, put.name);
      } else {
        entries_.Put(put.folder, put.name, put.is_absent ? nullptr : &put.entry, now_ms, &lost);
      }
      if (!put.is_absent) OnPutLocked(put.entry, is_changed, now_ms);
      if (lost.empty()) continue;
      OnLostLocked(put.folder, lost, is_changed);
      lost.clear();
    }
    EvictLocked();
  }
}

void DriveCore::PutChangedLocked(const Put& put, int64_t now_ms, std::vector<EntryTable::Lost>* lost) {
  const EntryTable::Found before = entries_.Find(put.folder, put.name);
  const bool was_bound = before.known == EntryTable::Known::kBound;
  const uint64_t node_before = was_bound ? before.entry->node : 0;
  const FileType type_before = was_bound ? before.entry->type : put.entry.type;
  entries_.Put(put.folder, put.name, put.is_absent ? nullptr : &put.entry, now_ms, lost);
  const bool is_same = !put.is_absent && node_before == put.entry.node;
  if (was_bound && !is_same) front_->OnChangedElsewhere(put.folder, put.name, type_before, NameChange::kRemoved);
  if (put.is_absent) return;
  front_->OnChangedElsewhere(put.folder, put.name, put.entry.type,
                             is_same ? NameChange::kModified : NameChange::kAdded);
}

void DriveCore::PutFolder(uint64_t folder, std::vector<EntryTable::NewName> listing) {
  std::lock_guard lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  std::vector<EntryTable::Lost> lost;
  KeepHeldLocked(folder, &listing);
  for (const EntryTable::NewName& item : listing) OnPutLocked(item.entry, false, now_ms);
  entries_.PutFolder(folder, std::move(listing), now_ms, &lost);
  OnLostLocked(folder, lost, true);
  EvictLocked();
}

void DriveCore::PutNode(const Entry& entry, bool is_changed) {
  std::lock_guard lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  Entry shown = entry;
  if (!MergeHeldLocked(&shown)) return;
  const bool is_other_version = entries_.PutNode(shown);
  OnPutLocked(shown, is_changed, now_ms);
  if (!is_other_version) return;
  nodes_.ForEach(shown.node, [&](KernelNode& kernel_node) { kernel_node.changed_ms = now_ms; });
}

void DriveCore::DropFolder(uint64_t folder) {
  std::lock_guard lock(mutex_);
  for (const uint64_t each : folder != 0 ? std::vector<uint64_t>{folder} : entries_.Folders()) {
    if (early_.HoldsNamesOf(each)) {
      early_.DropLater(each);
    } else {
      DropLocked(each);
    }
  }
}

void DriveCore::DropLocked(uint64_t folder) {
  std::vector<EntryTable::Lost> lost;
  entries_.Drop(folder, &lost);
  OnLostLocked(folder, lost, true);
}

void DriveCore::EvictLocked() {
  uint64_t folder = 0;
  while (entries_.NextToEvict(&folder) && !early_.HoldsNamesOf(folder)) DropLocked(folder);
}

// Brings the attributes of open files up to date, and tells the kernel of a change that it did not make itself.
void DriveCore::OnPutLocked(const Entry& entry, bool is_changed, int64_t now_ms) {
  nodes_.ForEach(entry.node, [&](KernelNode& kernel_node) {
    if (kernel_node.HasRare()) {
      kernel_node.MakeRare().removed = nullptr;
      kernel_node.MakeRare().was_removed_here = false;
    }
    if (kernel_node.file != nullptr && !kernel_node.file->is_removed) {
      File& file = *kernel_node.file;
      if (file.GetState().version == entry.version || file.writers > 0) {
        file.entry = entry;
      } else {
        file.entry.mode = entry.mode;
        file.entry.uid = entry.uid;
        file.entry.gid = entry.gid;
        file.entry.nlink = entry.nlink;
      }
    }
    if (!is_changed) return;
    if (kernel_node.attributes_until_ms > front_->NowKernelMs())
      front_->InvalidateAttributes(kernel_node.id, kernel_node.attributes_until_ms);
    kernel_node.attributes_until_ms = 0;
    kernel_node.changed_ms = now_ms;
  });
}

void DriveCore::OnLostLocked(uint64_t folder, const std::vector<EntryTable::Lost>& lost, bool reports_to_kernel) {
  for (const EntryTable::Lost& item : lost) {
    if (item.last.has_value()) {
      nodes_.ForEach(item.before.node, [&](KernelNode& kernel_node) {
        if (kernel_node.rare().removed == nullptr) kernel_node.MakeRare().removed = std::make_unique<Entry>(*item.last);
        if (kernel_node.file != nullptr && !reports_to_kernel) kernel_node.file->entry.nlink = 0;
      });
    }
    if (!reports_to_kernel) {
      if (item.is_rebound) NoteTakenLocked(folder, item);
      continue;
    }
    const bool kernel_may_hold = item.before.given_until_ms > front_->NowKernelMs();
    KernelNode* kernel_node = kernel_may_hold ? nodes_.Find(item.before.given_id) : nullptr;
    // A folder that has only changed keeps its name.
    if (kernel_node != nullptr && (item.is_rebound || !kernel_node->is_folder))
      ForgetNameLocked(folder, item.name, *kernel_node, item.before.given_until_ms, item.is_rebound);
  }
}

void DriveCore::NoteTakenLocked(uint64_t folder, const EntryTable::Lost& lost) {
  const int64_t now_ms = front_->NowKernelMs();
  while (!taken_.empty() && taken_.front().until_ms <= now_ms) taken_.pop_front();
  const EntryTable::Binding& before = lost.before;
  KernelNode* kernel_node = before.given_until_ms > now_ms ? nodes_.Find(before.given_id) : nullptr;
  if (kernel_node == nullptr) return;
  const uint64_t mark = MarkStaleLocked(*kernel_node, before.given_until_ms, folder, lost.name);
  taken_.push_back({folder, lost.name, before.given_id, before.given_until_ms, mark});
}

void DriveCore::OnTaken(uint64_t folder, const std::string& name, bool is_done) {
  std::lock_guard lock(mutex_);
  if (!is_done) return ForgetTakenLocked(folder, name);
  for (const Taken& taken : taken_) {
    KernelNode* kernel_node = taken.folder == folder && taken.name == name ? nodes_.Find(taken.id) : nullptr;
    if (kernel_node == nullptr) continue;
    if (kernel_node->is_folder) stale_folders_.End(kernel_node->node, taken.mark);
    if (kernel_node->rare().stale_mark == taken.mark) kernel_node->MakeRare().stale_until_ms = 0;
  }
}

void DriveCore::ForgetTakenLocked(uint64_t folder, const std::string& name) {
  const int64_t now_ms = front_->NowKernelMs();
  std::erase_if(taken_, [&](const Taken& taken) {
    if (taken.folder != folder || taken.name != name) return false;
    KernelNode* kernel_node = taken.until_ms > now_ms ? nodes_.Find(taken.id) : nullptr;
    if (kernel_node != nullptr) ForgetNameLocked(folder, name, *kernel_node, taken.until_ms, true);
    return true;
  });
}

uint64_t DriveCore::MarkStaleLocked(KernelNode& kernel_node, int64_t until_ms, uint64_t folder,
                                    const std::string& name) {
  const uint64_t mark = next_mark_++;
  const int64_t now_ms = front_->NowKernelMs();
  if (kernel_node.is_folder) {
    stale_folders_.Put(kernel_node.node, {mark, until_ms, folder, name}, now_ms);
    return mark;
  }
  KernelNode::Rare& rare = kernel_node.MakeRare();
  rare.stale_mark = mark;
  rare.stale_until_ms = std::min(until_ms, now_ms + kMarkMs);
  rare.retry = KernelNode::Rare::Retry::kNone;
  return mark;
}

void DriveCore::ForgetNameLocked(uint64_t folder, const std::string& name, KernelNode& kernel_node, int64_t until_ms,
                                 bool is_stale) {
  uint64_t mark = 0;
  if (is_stale) {
    mark = MarkStaleLocked(kernel_node, until_ms, folder, name);
    while (!forgotten_.empty() && forgotten_.front().until_ms <= front_->NowKernelMs()) forgotten_.pop_front();
    forgotten_.push_back({folder, name, kernel_node.id, until_ms, mark});
  }
  front_->InvalidateName(nodes_.IdOf(folder), name, kernel_node.id, mark, until_ms);
}

void DriveCore::PutContent(ContentPtr content) {
  std::lock_guard lock(mutex_);
  contents_.Put(std::move(content));
}

bool DriveCore::PutRanges(uint64_t content, const std::vector<ByteRange>& present) {
  std::unique_lock lock(mutex_);
  const ContentPtr found = contents_.Find(content);
  lock.unlock();
  if (found == nullptr) return false;
  found->AddPresent(present);
  return true;
}

bool DriveCore::DropContent(uint64_t content) {
  std::lock_guard lock(mutex_);
  return contents_.Drop(content);
}

bool DriveCore::DropContentBut(uint64_t content, uint64_t file) {
  std::unique_lock lock(mutex_);
  const ContentPtr found = contents_.Find(content);
  lock.unlock();
  // The file is about to become another version's, under another name.
  if (found != nullptr && found->file.Pin() != Kind::kNone) return false;
  lock.lock();
  for (const auto& [id, other] : files_) {
    const ContentPtr base = id == file ? nullptr : other->Base();
    if (base != nullptr && base->id == content) return false;
  }
  contents_.Erase(content);
  return true;
}

bool DriveCore::ReplaceContent(uint64_t content, uint64_t by) {
  ContentPtr former;  // closed outside the lock
  std::lock_guard lock(mutex_);
  const ContentPtr next = contents_.Find(by);
  if (next == nullptr) return false;
  former = contents_.Find(content);
  for (const auto& [id, file] : files_) {
    const ContentPtr base = file->Base();
    if (base != nullptr && base->id == content) file->Rebase(next);
  }
  contents_.Erase(content);
  return true;
}

void DriveCore::DropContents() {
  ContentTable gone;
  std::lock_guard lock(mutex_);
  std::swap(gone, contents_);
}

bool DriveCore::Rebase(uint64_t file, uint64_t content) {
  std::lock_guard lock(mutex_);
  auto found = files_.find(file);
  ContentPtr base = contents_.Find(content);
  if (found == files_.end() || base == nullptr) return false;
  return found->second->Rebase(std::move(base));
}

bool DriveCore::JoinLayers(uint64_t file, const std::vector<std::string>& overlays, const std::string& path) {
  std::unique_ptr<PooledFile> joined;
  if (!path.empty()) {
    UniqueFd fd;
    const auto open = [&path](int* to) { return OpenContentFile(path, to); };
    if (PooledFile::OpenReclaiming(open, &fd) != Kind::kNone) return false;
    joined = std::make_unique<PooledFile>(path, false, std::move(fd));
    // The agent removes it when it has joined it with others, or its content has been sent.
    if (joined->Pin() != Kind::kNone) return false;
  }
  std::unique_lock lock(mutex_);
  const auto found = files_.find(file);
  const FilePtr open_file = found == files_.end() ? nullptr : found->second;
  lock.unlock();
  return open_file != nullptr && open_file->JoinLayers(overlays, std::move(joined));
}

Statistics DriveCore::GetStatistics() {
  Statistics statistics;
  statistics.read_bytes = read_bytes_.load(std::memory_order_relaxed);
  statistics.written_bytes = written_bytes_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < kOps; ++i) {
    statistics.native[i] = native_[i].load(std::memory_order_relaxed);
    statistics.passed[i] = passed_[i].load(std::memory_order_relaxed);
  }
  statistics.pending_requests = requests_.WaiterCount();
  std::lock_guard lock(mutex_);
  statistics.open_files = files_.size();
  statistics.entries = entries_.EntryCount();
  statistics.kernel_nodes = nodes_.Count();
  return statistics;
}

}  // namespace runnel::drive
