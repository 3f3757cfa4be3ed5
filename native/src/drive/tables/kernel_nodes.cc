#include "kernel_nodes.h"

namespace runnel::drive {

const KernelNode::Rare& KernelNode::Nothing() {
  // Never destroyed: the kernel's requests are answered while a process ends.
  static const Rare& nothing = *new const Rare;
  return nothing;
}

KernelNode& KernelNodes::Make(uint64_t id, uint64_t node) {
  KernelNode& made = nodes_[id];
  made.id = id;
  made.node = node;
  return made;
}

KernelNode* KernelNodes::Find(uint64_t id) {
  auto at = nodes_.find(id);
  if (at != nodes_.end()) return &at->second;
  if (id == kRootId) return &Make(kRootId, root_);  // the kernel holds the root without ever looking it up
  return nullptr;
}

KernelNode* KernelNodes::FindCurrent(uint64_t node) {
  auto at = current_.find(node);
  return Find(at == current_.end() ? IdOf(node) : at->second);
}

KernelNode& KernelNodes::Current(uint64_t node) {
  KernelNode* found = FindCurrent(node);
  return found != nullptr ? *found : Make(IdOf(node), node);
}

KernelNode& KernelNodes::Next(const KernelNode& former) {
  const uint64_t node = former.node;
  uint64_t id = IdOf(node);
  if (Find(id) == nullptr) {
    current_.erase(node);
  } else {
    id = next_alias_;
    next_alias_ += 2;
    current_[node] = id;
    aliases_.emplace(node, id);
  }
  KernelNode& next = Make(id, node);
  next.changed_ms = former.changed_ms;
  return next;
}

void KernelNodes::Settle(KernelNode& kernel_node) {
  if (kernel_node.lookups != 0 || kernel_node.file != nullptr || kernel_node.id == kRootId) return;
  const uint64_t id = kernel_node.id;
  const uint64_t node = kernel_node.node;
  nodes_.erase(id);
  if (id < kAliasBase) return;
  if (auto at = current_.find(node); at != current_.end() && at->second == id) current_.erase(at);
  for (auto [at, end] = aliases_.equal_range(node); at != end; ++at) {
    if (at->second == id) {
      aliases_.erase(at);
      break;
    }
  }
}

}  // namespace runnel::drive
