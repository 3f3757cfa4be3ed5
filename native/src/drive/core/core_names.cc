// Names: lookup, forget, make, link, remove, rename.

#include "drive_core.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace runnel::drive {

void DriveCore::Lookup(ReplyPtr reply, uint64_t folder_id, std::string_view name) {
  if (const Kind error = CheckName(name); error != Kind::kNone) return reply->Error(error);
  std::unique_lock lock(mutex_);
  KernelNode* folder = nodes_.Find(folder_id);
  if (folder == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const uint64_t node = folder->node;
  second_tries_.NoteLooks(reply->GetCaller().pid, front_->NowKernelMs());
  if (HasLease(front_->NowBootMs())) {
    const EntryTable::Found found = entries_.Find(node, name);
    if (found.known == EntryTable::Known::kBound) {
      const EntryAnswer answer = GiveEntryLocked(found, true);
      NoteLookedUpLocked(node, name, answer.id, reply->GetCaller().pid);
      lock.unlock();
      CountNative(Op::kLookup);
      if (!reply->Entry(answer)) UndoLookup(answer.id);
      return;
    }
    if (found.known == EntryTable::Known::kAbsent) {
      lock.unlock();
      CountNative(Op::kLookup);
      return ReplyAbsent(reply, node, std::string(name));
    }
  }
  lock.unlock();
  AskForEntry(reply, {.op = Op::kLookup, .folder = node, .name = std::string(name)});
}

void DriveCore::AskForEntry(const ReplyPtr& reply, Message message) {
  auto resume = [this, reply, op = message.op, folder = message.folder, name = message.name](const Answer& answer) {
    if (answer.error == Kind::kNotFound && op == Op::kLookup) return ReplyAbsent(reply, folder, name);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    ReplyEntry(reply, folder, name, answer.node);
  };
  AskAgent(reply, std::move(message), std::move(resume));
}

// Some system calls do not try again when their last name is not found (filename_create in fs/namei.c): what makes a
// name is sent back by the request that follows.
void DriveCore::ReplyAbsent(const ReplyPtr& reply, uint64_t folder, const std::string& name, int round) {
  constexpr int kRoundsMax = 32;
  std::unique_lock lock(mutex_);
  const int32_t thread = reply->GetCaller().pid;
  const int64_t now_ms = front_->NowBootMs();
  Name unknown;
  const EntryTable::Known elsewhere = FindElsewhereLocked(folder, name, &unknown);
  if (elsewhere == EntryTable::Known::kUnknown && round < kRoundsMax) {
    lock.unlock();
    return AskAgent(reply, {.op = Op::kLookup, .folder = unknown.folder, .name = unknown.name},
                    [this, reply, folder, name, round](const Answer& answer) {
                      const bool is_answer = answer.error == Kind::kNone || answer.error == Kind::kNotFound;
                      if (!is_answer) return reply->Error(answer.error);
                      ReplyAbsent(reply, folder, name, answer.error == Kind::kNone ? round + 1 : kRoundsMax);
                    });
  }
  // It may be a step of a walk that was sent back.
  const bool is_doubtful = elsewhere == EntryTable::Known::kBound;
  const SecondTries::Named named{.folder = folder, .name = name};
  const SecondTries::Answer way =
      second_tries_.Judge(thread, named, SecondTries::Step::kLookup, is_doubtful, front_->NowKernelMs());
  if (way == SecondTries::Answer::kSendBack) answered_stale_ms_ = now_ms;
  Refuse(&lock, reply, way == SecondTries::Answer::kSendBack ? Kind::kStale : Kind::kNotFound);
}

EntryTable::Known DriveCore::FindPathLocked(uint64_t folder, const std::vector<std::string>& path, Name* at) {
  for (const std::string& name : path) {
    const EntryTable::Found found = entries_.Find(folder, name);
    if (found.known == EntryTable::Known::kUnknown) *at = {folder, name};
    if (found.known != EntryTable::Known::kBound) return found.known;
    folder = found.entry->node;
  }
  return EntryTable::Known::kBound;
}

EntryTable::Known DriveCore::FindElsewhereLocked(uint64_t folder, const std::string& name, Name* at) {
  const int64_t kernel_now_ms = front_->NowKernelMs();
  if (!stale_folders_.HasAny(kernel_now_ms)) return EntryTable::Known::kAbsent;
  EntryTable::Known elsewhere = EntryTable::Known::kAbsent;
  std::vector<std::string> below = {name};
  for (uint64_t each = folder; each != settings_.root_node;) {
    for (const StaleFolders::Mark& mark : stale_folders_.MarksOf(each, kernel_now_ms)) {
      std::vector<std::string> path = {mark.name};
      path.insert(path.end(), below.rbegin(), below.rend());
      const EntryTable::Known known = FindPathLocked(mark.parent, path, at);
      if (known == EntryTable::Known::kBound) return known;
      if (known == EntryTable::Known::kUnknown) elsewhere = known;
    }
    const uint64_t parent = entries_.ParentOf(each);
    std::string of_each;
    if (parent == 0 || below.size() == kDeepest || !entries_.NameOf(parent, each, &of_each)) break;
    below.push_back(std::move(of_each));
    each = parent;
  }
  return elsewhere;
}

void DriveCore::ReplyEntry(const ReplyPtr& reply, uint64_t folder, const std::string& name, uint64_t node) {
  std::unique_lock lock(mutex_);
  const EntryTable::Found found = entries_.Find(folder, name);
  const bool is_taken = node != 0 && (found.known != EntryTable::Known::kBound || found.entry->node != node);
  if (is_taken) {
    // The kernel tries again, as if the program had come after that.
    lock.unlock();
    return ReplyStale(reply);
  }
  if (found.known == EntryTable::Known::kUnknown) return Refuse(&lock, reply, Kind::kIo);
  if (found.known == EntryTable::Known::kAbsent) {
    lock.unlock();
    return ReplyAbsent(reply, folder, name);
  }
  const EntryAnswer answer = GiveEntryLocked(found, true);
  NoteLookedUpLocked(folder, name, answer.id, reply->GetCaller().pid);
  lock.unlock();
  if (!reply->Entry(answer)) UndoLookup(answer.id);
}

bool DriveCore::ReplyNode(const ReplyPtr& reply, uint64_t node) {
  std::unique_lock lock(mutex_);
  const Entry* entry = entries_.FindNode(node);
  if (entry == nullptr) return false;
  // This is of no name, so that nothing is kept of one.
  EntryTable::Binding none;
  none.changed_ms = front_->NowBootMs();
  const EntryAnswer answer = GiveEntryLocked({EntryTable::Known::kBound, &none, entry}, true);
  lock.unlock();
  if (!reply->Entry(answer)) UndoLookup(answer.id);
  return true;
}

void DriveCore::Reach(ReplyPtr reply, uint64_t node, bool wants_parent) {
  std::unique_lock lock(mutex_);
  const bool has_lease = HasLease(front_->NowBootMs());
  if (wants_parent && node != settings_.root_node) node = entries_.ParentOf(node);
  lock.unlock();
  if (node == 0) return reply->Error(Kind::kNotFound);
  if (has_lease && ReplyNode(reply, node)) return CountNative(Op::kLookup);
  AskAgent(reply, {.op = Op::kGetattr, .node = node}, [this, reply, node](const Answer& answer) {
    if (answer.error == Kind::kNotFound) return reply->Error(Kind::kStale);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    if (!ReplyNode(reply, node)) reply->Error(Kind::kIo);
  });
}

void DriveCore::Forget(uint64_t id, uint64_t lookups) {
  std::lock_guard lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr) return;
  kernel_node->lookups -= std::min(lookups, kernel_node->lookups);
  nodes_.Settle(*kernel_node);
}

void DriveCore::Make(ReplyPtr reply, uint64_t folder_id, std::string_view name, FileType type, uint32_t mode,
                     uint32_t rdev, std::string_view target) {
  if (const Kind error = CheckChange(name); error != Kind::kNone) return reply->Error(error);
  const uint64_t folder = FolderToChange(reply, folder_id, name);
  if (folder == 0) return;
  AskForEntry(reply, {.op = Op::kMake,
                      .folder = folder,
                      .name = std::string(name),
                      .target = std::string(target),
                      .type = type,
                      .mode = mode & 07777,
                      .rdev = rdev});
}

void DriveCore::Link(ReplyPtr reply, uint64_t id, uint64_t folder_id, std::string_view name) {
  if (const Kind error = CheckChange(name); error != Kind::kNone) return reply->Error(error);
  std::unique_lock lock(mutex_);
  const int32_t thread = reply->GetCaller().pid;
  const int64_t now_ms = front_->NowBootMs();
  KernelNode* source = nodes_.Find(id);
  KernelNode* folder = nodes_.Find(folder_id);
  if (source == nullptr || folder == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const SecondTries::Answer way =
      JudgeLocked({source->node, folder->node, name, 0, {}}, SecondTries::Step::kLast, thread, now_ms);
  if (way == SecondTries::Answer::kSendBack ||
      (way == SecondTries::Answer::kServe && IsNameStaleLocked(*source, thread, now_ms)))
    return Refuse(&lock, reply, Kind::kStale);
  Message message = {.op = Op::kLink, .node = source->node, .folder = folder->node, .name = std::string(name)};
  lock.unlock();
  AskForEntry(reply, std::move(message));
}

DriveCore::Victim DriveCore::FindVictimLocked(uint64_t folder, std::string_view name) {
  const EntryTable::Found found = entries_.Find(folder, name);
  if (found.known != EntryTable::Known::kBound) return {};
  return {found.entry->node, *found.entry};
}

// A name of this node was taken by this mount: with the last one the node lives on in its handles only.
void DriveCore::OnRemovedHere(const Victim& victim) {
  if (victim.node == 0) return;
  std::lock_guard lock(mutex_);
  Entry* known = entries_.FindNode(victim.node);
  if (victim.entry.type != FileType::kFolder && victim.entry.nlink > 1) {
    if (known != nullptr && known->nlink == victim.entry.nlink) --known->nlink;
    return;
  }
  // A name that was taken away has been reported before the answer. One that still has a name was moved by another
  // client, or given one, before that.
  if (known != nullptr && known->nlink > 0) return;
  nodes_.ForEach(victim.node, [&](KernelNode& kernel_node) {
    KernelNode::Rare& rare = kernel_node.MakeRare();
    rare.removed = std::make_unique<Entry>(victim.entry);
    rare.removed->nlink = 0;
    rare.was_removed_here = true;
    kernel_node.attributes_until_ms = 0;
    if (kernel_node.file == nullptr) return;
    kernel_node.file->is_removed = true;
    kernel_node.file->entry.nlink = 0;
  });
}

void DriveCore::Remove(ReplyPtr reply, uint64_t folder_id, std::string_view name, bool is_folder) {
  if (const Kind error = CheckChange(name); error != Kind::kNone) return reply->Error(error);
  const uint64_t folder = FolderToChange(reply, folder_id, name);
  if (folder == 0) return;
  Message message = {.op = Op::kRemove, .folder = folder, .name = std::string(name), .is_folder = is_folder};
  std::unique_lock lock(mutex_);
  const Victim victim = FindVictimLocked(folder, name);
  lock.unlock();
  const Message taken = message;
  AskAgent(reply, std::move(message), [this, reply, victim, taken](const Answer& answer) {
    if (answer.error == Kind::kNone) OnRemovedHere(victim);
    OnTaken(taken.folder, taken.name, answer.error == Kind::kNone);
    reply->Error(answer.error);
  });
}

void DriveCore::Rename(ReplyPtr reply, uint64_t folder_id, std::string_view name, uint64_t to_folder_id,
                       std::string_view to_name, RenameHow how) {
  if (const Kind error = CheckChange(name); error != Kind::kNone) return reply->Error(error);
  if (const Kind error = CheckName(to_name); error != Kind::kNone) return reply->Error(error);
  std::unique_lock lock(mutex_);
  KernelNode* folder = nodes_.Find(folder_id);
  KernelNode* to_folder = nodes_.Find(to_folder_id);
  const int32_t thread = reply->GetCaller().pid;
  if (folder == nullptr || to_folder == nullptr ||
      IsPathStaleLocked({0, folder->node, name, to_folder->node, to_name}, SecondTries::Step::kLast, thread,
                        front_->NowBootMs()))
    return Refuse(&lock, reply, Kind::kStale);
  Message message = {.op = Op::kRename,
                     .folder = folder->node,
                     .name = std::string(name),
                     .to_folder = to_folder->node,
                     .to_name = std::string(to_name),
                     .how = how};
  Victim victim;
  if (how == RenameHow::kReplace) {
    victim = FindVictimLocked(to_folder->node, to_name);
    const EntryTable::Found source = entries_.Find(folder->node, name);
    // Two names of one node: rename does nothing.
    if (source.known == EntryTable::Known::kBound && source.entry->node == victim.node) victim = {};
  }
  const Given given = FindGivenLocked(folder->node, name);
  const Given given_there = how == RenameHow::kExchange ? FindGivenLocked(to_folder->node, to_name) : Given{};
  lock.unlock();
  const Message moved = message;
  AskAgent(reply, std::move(message), [this, reply, victim, given, given_there, moved](const Answer& answer) {
    if (answer.error == Kind::kNone) {
      OnRemovedHere(victim);
      OnMovedHere(given, moved.to_folder, moved.to_name);
      OnMovedHere(given_there, moved.folder, moved.name);
      ForgetMoved(moved.folder, moved.name, moved.to_folder, moved.to_name);
      if (moved.how == RenameHow::kExchange) ForgetMoved(moved.to_folder, moved.to_name, moved.folder, moved.name);
    }
    OnTaken(moved.folder, moved.name, answer.error == Kind::kNone);
    OnTaken(moved.to_folder, moved.to_name, answer.error == Kind::kNone);
    reply->Error(answer.error);
  });
}

DriveCore::Given DriveCore::FindGivenLocked(uint64_t folder, std::string_view name) {
  const EntryTable::Found found = entries_.Find(folder, name);
  if (found.known != EntryTable::Known::kBound) return {};
  return {found.binding->node, found.binding->given_until_ms, found.binding->given_id};
}

void DriveCore::OnMovedHere(const Given& given, uint64_t folder, const std::string& name) {
  if (given.node == 0) return;
  std::lock_guard lock(mutex_);
  const EntryTable::Found found = entries_.Find(folder, name);
  if (found.known != EntryTable::Known::kBound || found.binding->node != given.node) {
    // Another client's change of the new name has come before this answer, after which the kernel moves the name.
    KernelNode* kernel_node = given.until_ms > front_->NowKernelMs() ? nodes_.Find(given.id) : nullptr;
    if (kernel_node != nullptr) ForgetNameLocked(folder, name, *kernel_node, given.until_ms, true);
    return;
  }
  if (found.binding->given_until_ms >= given.until_ms) return;
  found.binding->given_until_ms = given.until_ms;
  found.binding->given_id = given.id;
}

void DriveCore::ForgetMoved(uint64_t folder, const std::string& name, uint64_t to_folder, const std::string& to_name) {
  std::lock_guard lock(mutex_);
  const int64_t now_ms = front_->NowKernelMs();
  std::vector<Taken> moved;
  std::copy_if(forgotten_.begin(), forgotten_.end(), std::back_inserter(moved),
               [&](const Taken& each) { return each.folder == folder && each.name == name && each.until_ms > now_ms; });
  for (const Taken& each : moved) {
    KernelNode* kernel_node = nodes_.Find(each.id);
    if (kernel_node != nullptr) ForgetNameLocked(to_folder, to_name, *kernel_node, each.until_ms, true);
  }
}

}  // namespace runnel::drive
