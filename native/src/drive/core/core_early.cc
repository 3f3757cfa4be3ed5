// Changes of names and attributes that programs are answered from the tables, before the agent has heard of them: while
// it says that nobody else can change anything. Each is what the agent's own rules come to (shared/src/model/tree), and
// is answered here only where the tables have all that they ask; the agent takes it in soon after, in its order.
#include <algorithm>

#include "drive_core.h"

namespace runnel::drive {
namespace {

// Names that every server takes (new-attributes.ts); of others the agent judges. Controls above U+007F begin with 0xc2.
bool IsPlain(std::string_view name) {
  constexpr size_t kPlainBytesMax = 143;
  constexpr std::string_view kOther = " !#$%&'()+,-.=@[]^_`{}~";
  const auto is_plain = [kOther](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (static_cast<unsigned char>(byte) >= 0x80 && static_cast<unsigned char>(byte) != 0xc2) ||
           kOther.find(byte) != std::string_view::npos;
  };
  return name.size() <= kPlainBytesMax && name.back() != '.' && name.back() != ' ' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

bool IsOfNames(Op op) {
  return op == Op::kCreate || op == Op::kMake || op == Op::kLink || op == Op::kRemove || op == Op::kRename ||
         op == Op::kSetattr;
}

}  // namespace

bool DriveCore::ChangeEarlyLocked(Message* message, int64_t now_ms) {
  switch (message->op) {
    case Op::kLink: return LinkEarlyLocked(message, now_ms);
    case Op::kRemove: return RemoveEarlyLocked(message, now_ms);
    case Op::kRename: return RenameEarlyLocked(message, now_ms);
    case Op::kSetattr: return SetEarlyLocked(message, now_ms);
    default: return MakeEarlyLocked(message, now_ms);
  }
}

bool DriveCore::AnswersEarly(const ReplyPtr& reply, const Message& message, Answer* answer) {
  if (!IsOfNames(message.op) || !early_.IsAllowed()) return false;
  std::lock_guard lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  if (!early_.IsAllowed() || !HasLease(now_ms) || !early_.IsInTime(now_ms)) return false;
  // The tables lack what the agent is asked for and has not done.
  if (requests_.IsChangeUnderWay()) return false;
  Message early = message;
  early.id = requests_.NewId();
  early.caller = reply->GetCaller();
  early.answered_ns = front_->NowWallNs();
  if (!ChangeEarlyLocked(&early, now_ms)) return false;
  CountNative(message.op);
  // The node of the name that it gives.
  answer->node = early.op == Op::kMake || early.op == Op::kLink ? early.node : 0;
  const uint64_t id = early.id;
  requests_.Ask(std::move(early), [this, id](const Answer&) {
    std::lock_guard held(mutex_);
    early_.Recorded(id);
  });
  return true;
}

const Entry* DriveCore::OnlyNameLocked(uint64_t folder, std::string_view name) {
  const EntryTable::Found found = entries_.Find(folder, name);
  if (found.known != EntryTable::Known::kBound) return nullptr;
  const Entry& entry = *found.entry;
  return entry.type == FileType::kFolder || entry.nlink == 1 ? &entry : nullptr;
}

void DriveCore::TouchFolderLocked(uint64_t folder, int64_t wall_ns, int subfolders, int64_t now_ms) {
  const Entry* known = entries_.FindNode(folder);
  if (known == nullptr) return;
  Entry entry = *known;
  entry.mtime_ns = entry.ctime_ns = wall_ns;
  entry.nlink = static_cast<uint32_t>(static_cast<int>(entry.nlink) + subfolders);
  entries_.PutNode(entry);
  OnPutLocked(entry, false, now_ms);
}

void DriveCore::BindEarlyLocked(uint64_t folder, const std::string& name, const Entry* entry, int64_t now_ms) {
  std::vector<EntryTable::Lost> lost;
  entries_.Put(folder, name, entry, now_ms, &lost);
  if (entry != nullptr) OnPutLocked(*entry, false, now_ms);
  OnLostLocked(folder, lost, false);
}

bool DriveCore::IsShallowLocked(uint64_t folder) const {
  constexpr int kShallow = 32;
  for (int depth = 0; depth < kShallow && folder != 0; ++depth) {
    if (folder == settings_.root_node) return true;
    folder = entries_.ParentOf(folder);
  }
  return false;
}

bool DriveCore::TakesNameLocked(uint64_t folder, const std::string& name) {
  // A folder that lies too deep takes none, and that is for the agent to judge.
  return settings_.fold == nullptr && IsPlain(name) && IsShallowLocked(folder) &&
         entries_.FindNode(folder) != nullptr && entries_.Find(folder, name).known == EntryTable::Known::kAbsent;
}

bool DriveCore::MakeEarlyLocked(Message* message, int64_t now_ms) {
  constexpr uint32_t kSetGid = 02000;
  const FileType type = message->op == Op::kCreate ? FileType::kFile : message->type;
  message->is_folder = type == FileType::kFolder;
  if ((type != FileType::kFile && !message->is_folder) || !TakesNameLocked(message->folder, message->name))
    return false;
  const Entry* parent = entries_.FindNode(message->folder);
  // With this bit a folder gives all that is made in it its group, and folders the bit as well (mkdir(2)).
  if ((parent->mode & kSetGid) != 0) {
    message->caller.gid = parent->gid;
    if (message->is_folder) message->mode |= kSetGid;
  }
  message->op = Op::kMake;
  message->type = type;
  message->node = early_.NextNode();
  if (message->node == 0 || !early_.Add(message, {message->node, message->folder}, now_ms)) return false;
  early_.TakeNode();
  Entry made;
  made.node = message->node;
  made.type = type;
  made.mode = message->mode;
  made.uid = message->caller.uid;
  made.gid = message->caller.gid;
  made.nlink = message->is_folder ? 2 : 1;
  made.mtime_ns = made.ctime_ns = message->answered_ns;
  std::vector<EntryTable::Lost> none;
  if (message->is_folder) entries_.PutFolder(made.node, {}, now_ms, &none);
  BindEarlyLocked(message->folder, message->name, &made, now_ms);
  TouchFolderLocked(message->folder, message->answered_ns, message->is_folder ? 1 : 0, now_ms);
  EvictLocked();
  return true;
}

bool DriveCore::LinkEarlyLocked(Message* message, int64_t now_ms) {
  const Entry* source = entries_.FindNode(message->node);
  if (source == nullptr || source->type != FileType::kFile || source->nlink == 0) return false;
  if (!TakesNameLocked(message->folder, message->name)) return false;
  Entry linked = *source;
  ++linked.nlink;
  linked.ctime_ns = message->answered_ns;
  if (!early_.Add(message, {message->node, message->folder}, now_ms)) return false;
  BindEarlyLocked(message->folder, message->name, &linked, now_ms);
  TouchFolderLocked(message->folder, message->answered_ns, 0, now_ms);
  EvictLocked();
  return true;
}

bool DriveCore::RemoveEarlyLocked(Message* message, int64_t now_ms) {
  const EntryTable::Found found = entries_.Find(message->folder, message->name);
  if (found.known != EntryTable::Known::kBound) return false;
  Entry removed = *found.entry;
  if ((removed.type == FileType::kFolder) != message->is_folder) return false;
  std::string name;
  if (message->is_folder && (!entries_.FindAny(removed.node, &name) || !name.empty())) return false;
  // It stays under a name that is known.
  const bool stays = !message->is_folder && removed.nlink > 1;
  if (stays && entries_.NameCount(removed.node) < 2) return false;
  message->node = removed.node;
  if (!early_.Add(message, {message->node, message->folder}, now_ms)) return false;
  BindEarlyLocked(message->folder, message->name, nullptr, now_ms);
  if (stays) {
    --removed.nlink;
    removed.ctime_ns = message->answered_ns;
    entries_.PutNode(removed);
    OnPutLocked(removed, false, now_ms);
  }
  TouchFolderLocked(message->folder, message->answered_ns, message->is_folder ? -1 : 0, now_ms);
  return true;
}

bool DriveCore::RenameEarlyLocked(Message* message, int64_t now_ms) {
  // A folder that lies too deep takes no name, and that is for the agent to judge.
  if (message->folder != message->to_folder && !IsShallowLocked(message->to_folder)) return false;
  if (message->how == RenameHow::kExchange || settings_.fold != nullptr || !IsPlain(message->to_name)) return false;
  const Entry* source = OnlyNameLocked(message->folder, message->name);
  const EntryTable::Found there = entries_.Find(message->to_folder, message->to_name);
  const bool is_free = there.known == EntryTable::Known::kAbsent;
  const Entry* over = is_free ? nullptr : OnlyNameLocked(message->to_folder, message->to_name);
  // Folders have more rules.
  if (source == nullptr || source->type == FileType::kFolder) return false;
  if (!is_free && (over == nullptr || over->type == FileType::kFolder || over->node == source->node ||
                   message->how == RenameHow::kKeep))
    return false;
  Entry moved = *source;
  moved.ctime_ns = message->answered_ns;
  message->node = moved.node;
  std::vector<uint64_t> nodes = {moved.node, message->folder, message->to_folder};
  if (over != nullptr) nodes.push_back(over->node);
  if (!early_.Add(message, std::move(nodes), now_ms)) return false;
  // The node keeps a name throughout.
  BindEarlyLocked(message->to_folder, message->to_name, &moved, now_ms);
  BindEarlyLocked(message->folder, message->name, nullptr, now_ms);
  TouchFolderLocked(message->folder, message->answered_ns, 0, now_ms);
  TouchFolderLocked(message->to_folder, message->answered_ns, 0, now_ms);
  return true;
}

bool DriveCore::SetEarlyLocked(Message* message, int64_t now_ms) {
  // The owner may be shown otherwise than it is.
  constexpr uint8_t kPlain = Message::kMode | Message::kMtime;
  const Entry* known = entries_.FindNode(message->node);
  if ((message->set & ~kPlain) != 0 || known == nullptr || known->nlink == 0) return false;
  if (known->type != FileType::kFile && known->type != FileType::kFolder) return false;
  Entry entry = *known;
  if (message->set & Message::kMode) entry.mode = message->mode;
  if (message->set & Message::kMtime) entry.mtime_ns = message->mtime_ns;
  entry.ctime_ns = message->answered_ns;
  if (!early_.Add(message, {message->node}, now_ms)) return false;
  entries_.PutNode(entry);
  OnPutLocked(entry, false, now_ms);
  return true;
}

bool DriveCore::CommitsEarlyLocked(Message* message) {
  // Versions of contents that the server lacks.
  constexpr uint64_t kUnsentFrom = uint64_t{1} << 52;
  constexpr uint64_t kBytesMax = 1 << 20;
  constexpr size_t kExtentsMax = 16;
  const int64_t now_ms = front_->NowBootMs();
  if (!early_.IsAllowed() || !HasLease(now_ms) || !early_.IsInTime(now_ms)) return false;
  // All that the file has is in one layer.
  if (message->base_bytes > 0 || message->size_bytes > kBytesMax) return false;
  if (message->layers.size() > 1 || (!message->layers.empty() && message->layers[0].extents.size() > kExtentsMax))
    return false;
  // The agent's record names the files of the content below, too, until it joins them.
  if (!early_.MayStack(message->node, message->base_version >= kUnsentFrom)) return false;
  message->answered_ns = front_->NowWallNs();
  const bool is_done = early_.Add(message, {message->node}, now_ms);
  if (!is_done) message->answered_ns = 0;
  return is_done;
}

bool DriveCore::MayOvertake(const Message& message) {
  switch (message.op) {
    case Op::kLookup:
    case Op::kGetattr:
    case Op::kList:
    case Op::kOpen:
    case Op::kXattrs:
    case Op::kStatfs: break;
    default: return false;
  }
  std::lock_guard lock(mutex_);
  const auto is_free = [this](uint64_t node) {
    return node == 0 || (!early_.HoldsNode(node) && !early_.HoldsNamesOf(node));
  };
  return is_free(message.node) && is_free(message.folder);
}

bool DriveCore::MergeHeldLocked(Entry* entry) {
  if (!early_.HoldsNode(entry->node)) return true;
  early_.NoteUnheeded();
  const Entry* held = entries_.FindNode(entry->node);
  if (held == nullptr) return false;
  Entry merged = *held;
  if (merged.type == FileType::kFile) {
    // The agent knows what was saved of it.
    merged.version = entry->version;
    merged.size_bytes = entry->size_bytes;
    if (!early_.HoldsMtime(merged.node)) merged.mtime_ns = entry->mtime_ns;
  }
  merged.xattrs = entry->xattrs;
  merged.ctime_ns = std::max(merged.ctime_ns, entry->ctime_ns);
  *entry = std::move(merged);
  return true;
}

bool DriveCore::IsHeldLocked(uint64_t folder, const std::string& name) {
  if (!early_.HoldsName(folder, name)) return false;
  early_.NoteUnheeded();
  return true;
}

void DriveCore::KeepHeldLocked(uint64_t folder, std::vector<EntryTable::NewName>* listing) {
  for (EntryTable::NewName& item : *listing) {
    MergeHeldLocked(&item.entry);
  }
  if (!early_.HoldsNamesOf(folder)) return;
  std::erase_if(*listing, [&](const EntryTable::NewName& item) { return IsHeldLocked(folder, item.name); });
  for (const auto& [name, count] : early_.NamesOf(folder)) {
    const EntryTable::Found found = entries_.Find(folder, name);
    if (found.known == EntryTable::Known::kBound) listing->push_back({name, *found.entry});
  }
}

void DriveCore::AllowEarly(bool is_allowed) {
  std::lock_guard lock(mutex_);
  early_.Allow(is_allowed);
}

bool DriveCore::TookIn(uint64_t id) {
  std::lock_guard lock(mutex_);
  const bool is_to_be_put = early_.TakeIn(id);
  for (const uint64_t folder : early_.TakeDropped()) DropLocked(folder);
  return is_to_be_put;
}

}  // namespace runnel::drive
