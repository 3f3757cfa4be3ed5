// Folders: their listing is taken when a program begins to read one, and given out page by page.
#include <algorithm>

#include "drive_core.h"

namespace runnel::drive {
namespace {

// The order that the agent knows a folder in, so that it can tell what a program that reads on comes to next.
std::shared_ptr<const std::vector<EntryTable::Listed>> Sorted(std::shared_ptr<std::vector<EntryTable::Listed>> names) {
  std::sort(names->begin(), names->end(),
            [](const EntryTable::Listed& a, const EntryTable::Listed& b) { return a.name < b.name; });
  return names;
}

}  // namespace

void DriveCore::OpenFolder(ReplyPtr reply, uint64_t id) {
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr || IsStaleLocked(*kernel_node, reply->GetCaller().pid, front_->NowBootMs()))
    return Refuse(&lock, reply, Kind::kStale);
  auto handle = std::make_unique<FolderHandle>();
  handle->id = id;
  handle->node = kernel_node->node;
  FolderHandle* opened = handle.release();
  folder_handles_.insert(opened);
  lock.unlock();
  CountNative(Op::kOpendir);
  if (!reply->FolderOpened(opened)) ReleaseFolder(opened);
}

void DriveCore::ReleaseFolder(FolderHandle* handle) {
  {
    std::lock_guard lock(mutex_);
    folder_handles_.erase(handle);
  }
  delete handle;
}

void DriveCore::ReadFolder(ReplyPtr reply, FolderHandle* handle, uint64_t offset, size_t size, bool with_attributes) {
  {
    std::lock_guard handle_lock(handle->mutex);
    if (offset == 0) handle->listing = nullptr;
    if (handle->listing == nullptr) {
      auto names = std::make_shared<std::vector<EntryTable::Listed>>();
      std::unique_lock lock(mutex_);
      const bool is_known = HasLease(front_->NowBootMs()) && entries_.List(handle->node, names.get());
      lock.unlock();
      if (is_known) handle->listing = Sorted(std::move(names));
    }
    if (handle->listing != nullptr) CountNative(Op::kReaddir);
  }
  if (handle->listing != nullptr) return SendFolder(reply, handle, offset, size, with_attributes);
  // The handle outlives the request: the kernel releases it only when this has been answered.
  Message message = {.op = Op::kList, .folder = handle->node};
  AskAgent(reply, std::move(message), [this, reply, handle, offset, size, with_attributes](const Answer& answer) {
    if (answer.error != Kind::kNone && !answer.is_given_up) {
      std::unique_lock lock(mutex_);
      KernelNode* kernel_node = nodes_.Find(handle->id);
      const bool is_removed = kernel_node != nullptr && kernel_node->rare().was_removed_here;
      lock.unlock();
      if (!is_removed) return reply->Error(answer.error);
      std::lock_guard handle_lock(handle->mutex);
      handle->listing = std::make_shared<std::vector<EntryTable::Listed>>();  // removed while open: empty
    } else if (answer.error != Kind::kNone) {
      return reply->Error(answer.error);
    } else {
      auto names = std::make_shared<std::vector<EntryTable::Listed>>();
      std::lock_guard handle_lock(handle->mutex);
      std::unique_lock lock(mutex_);
      const bool is_known = entries_.List(handle->node, names.get());
      lock.unlock();
      if (!is_known) return reply->Error(Kind::kIo);
      handle->listing = Sorted(std::move(names));
    }
    SendFolder(reply, handle, offset, size, with_attributes);
  });
}

bool DriveCore::SendNameLocked(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, uint64_t folder,
                               const std::optional<std::string>& like) {
  std::string name;
  const bool is_known = like.has_value() ? entries_.FindAlike(folder, settings_.fold(*like), settings_.fold, &name)
                                         : entries_.FindAny(folder, &name);
  if (!is_known) return false;
  lock->unlock();
  if (name.empty()) {
    reply->Error(Kind::kNotFound);
  } else {
    reply->Target(name);
  }
  return true;
}

void DriveCore::FindName(ReplyPtr reply, uint64_t folder_id, std::optional<std::string> like) {
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(folder_id);
  if (kernel_node == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const uint64_t folder = kernel_node->node;
  if (HasLease(front_->NowBootMs()) && SendNameLocked(&lock, reply, folder, like)) return CountNative(Op::kLookup);
  lock.unlock();
  AskAgent(reply, {.op = Op::kList, .folder = folder},
           [this, reply, folder, like = std::move(like)](const Answer& answer) {
             if (answer.error != Kind::kNone) return reply->Error(answer.error);
             std::unique_lock again(mutex_);
             if (SendNameLocked(&again, reply, folder, like)) return;
             again.unlock();
             reply->Error(Kind::kIo);
           });
}

// Offset n is after the first n of ".", "..", and the listing.
void DriveCore::SendFolder(const ReplyPtr& reply, FolderHandle* handle, uint64_t offset, size_t size,
                           bool with_attributes) {
  std::shared_ptr<const std::vector<EntryTable::Listed>> listing;
  {
    std::lock_guard handle_lock(handle->mutex);
    listing = handle->listing;
  }
  reply->BeginNames(size, with_attributes);
  {
    std::lock_guard lock(mutex_);
    const uint64_t count = listing->size() + 2;
    for (uint64_t at = offset; at < count; ++at) {
      EntryAnswer answer;  // id 0: the kernel learns the name and type only
      if (at < 2) {
        const uint64_t parent = at == 0 ? handle->node : entries_.ParentOf(handle->node);
        answer.attributes.ino = parent != 0 ? parent : settings_.root_node;
        answer.attributes.mode = ModeOf(FileType::kFolder);
        if (!reply->AddName(at == 0 ? "." : "..", answer, at + 1)) break;
        continue;
      }
      const EntryTable::Listed& item = (*listing)[at - 2];
      answer.attributes.ino = item.node;
      answer.attributes.mode = ModeOf(item.type);
      if (with_attributes) {
        const EntryTable::Found found = entries_.Find(handle->node, item.name);
        if (found.known == EntryTable::Known::kBound && found.entry->node == item.node)
          answer = GiveEntryLocked(found, false);
      }
      if (reply->AddName(item.name, answer, at + 1)) continue;
      if (answer.id != 0) {
        KernelNode* kernel_node = nodes_.Find(answer.id);
        --kernel_node->lookups;
        nodes_.Settle(*kernel_node);
      }
      break;
    }
  }
  reply->SendNames();
}

}  // namespace runnel::drive
