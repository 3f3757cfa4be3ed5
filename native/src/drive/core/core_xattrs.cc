// Extended attributes: those of users (user.*) are the node's, asked of the agent when it has any; other namespaces are
// refused.
#include <string>

#include "drive_core.h"
#include "src/file/utf8.h"

namespace runnel::drive {
namespace {

constexpr std::string_view kUser = "user.";
// The kernel asks for it on every write.
constexpr std::string_view kCapability = "security.capability";

Kind CheckXattr(std::string_view name) {
  if (name == kCapability) return Kind::kNoAttribute;
  if (!name.starts_with(kUser)) return Kind::kUnsupported;
  return name.size() == kUser.size() || !IsUtf8(name) ? Kind::kInvalid : Kind::kNone;
}

// Answers as getxattr(2) and listxattr(2) do: how much there is when no room was offered.
void Give(const ReplyPtr& reply, const std::string& data, size_t room) {
  if (room == 0) return reply->Size(data.size());
  if (data.size() > room) return reply->Error(Kind::kBufferTooSmall);
  reply->Data(data.data(), data.size());
}

}  // namespace

void DriveCore::WithXattrs(const ReplyPtr& reply, uint64_t id, std::function<void(const Xattrs&)> use) {
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr) return Refuse(&lock, reply, Kind::kStale);
  const uint64_t node = kernel_node->node;
  const Entry* entry = entries_.FindNode(node);
  // The change that the agent's answer will be of; 0 when that cannot be said.
  const uint64_t seq = entry != nullptr ? entry->xattrs : 0;
  XattrsPtr known;
  if (entry != nullptr && HasLease(front_->NowBootMs()))
    known = seq == 0 ? std::make_shared<const Xattrs>() : held_xattrs_.Find(node, seq);
  lock.unlock();
  if (known != nullptr) {
    CountNative(Op::kXattrs);
    return use(*known);
  }
  AskAgent(reply, {.op = Op::kXattrs, .node = node}, [this, reply, node, seq, use](const Answer& answer) {
    if (answer.error == Kind::kNotFound || answer.error == Kind::kStale) return ReplyStale(reply);
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    if (answer.xattrs == nullptr) return use({});
    HoldXattrs(node, seq, answer.xattrs);
    use(*answer.xattrs);
  });
}

// A change that came meanwhile leaves it open of which of the two the answer is.
void DriveCore::HoldXattrs(uint64_t node, uint64_t seq, XattrsPtr xattrs) {
  std::lock_guard lock(mutex_);
  const Entry* entry = entries_.FindNode(node);
  if (seq != 0 && entry != nullptr && entry->xattrs == seq) held_xattrs_.Hold(node, seq, std::move(xattrs));
}

void DriveCore::GetXattr(ReplyPtr reply, uint64_t id, std::string_view name, size_t room) {
  if (const Kind error = CheckXattr(name); error != Kind::kNone) return reply->Error(error);
  WithXattrs(reply, id, [reply, room, name = std::string(name)](const Xattrs& xattrs) {
    const auto found = xattrs.find(name);
    if (found == xattrs.end()) return reply->Error(Kind::kNoAttribute);
    Give(reply, found->second, room);
  });
}

void DriveCore::ListXattrs(ReplyPtr reply, uint64_t id, size_t room) {
  WithXattrs(reply, id, [reply, room](const Xattrs& xattrs) {
    std::string names;
    for (const auto& [name, value] : xattrs) names.append(name).push_back('\0');
    Give(reply, names, room);
  });
}

void DriveCore::SetXattr(ReplyPtr reply, uint64_t id, std::string_view name, std::string_view value, int flags) {
  Message message;
  message.how_xattr = (flags & kXattrMustBeNew) != 0     ? XattrHow::kCreate
                      : (flags & kXattrMustBeThere) != 0 ? XattrHow::kReplace
                                                         : XattrHow::kAny;
  message.value = value;
  ChangeXattr(reply, id, name, std::move(message));
}

void DriveCore::RemoveXattr(ReplyPtr reply, uint64_t id, std::string_view name) {
  Message message;
  message.how_xattr = XattrHow::kRemove;
  ChangeXattr(reply, id, name, std::move(message));
}

void DriveCore::ChangeXattr(const ReplyPtr& reply, uint64_t id, std::string_view name, Message message) {
  if (settings_.is_read_only) return reply->Error(Kind::kReadOnly);
  if (const Kind error = CheckXattr(name); error != Kind::kNone)
    return reply->Error(error == Kind::kNoAttribute ? Kind::kUnsupported : error);
  std::unique_lock lock(mutex_);
  KernelNode* kernel_node = nodes_.Find(id);
  if (kernel_node == nullptr ||
      (!IsOpenLocked(*kernel_node) && IsStaleLocked(*kernel_node, reply->GetCaller().pid, front_->NowBootMs())))
    return Refuse(&lock, reply, Kind::kStale);
  message.op = Op::kSetxattr;
  message.node = kernel_node->node;
  lock.unlock();
  message.name = name;
  AskAgent(reply, std::move(message), [reply](const Answer& answer) { reply->Error(answer.error); });
}

}  // namespace runnel::drive
