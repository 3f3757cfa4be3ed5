#include "held_xattrs.h"

#include <utility>

namespace runnel::drive {
namespace {

constexpr size_t kBytesMax = 4 << 20;
// About what a place in list, maps and strings takes.
constexpr size_t kOverheadBytes = 128;

size_t BytesOf(const Xattrs& xattrs) {
  size_t bytes = kOverheadBytes;
  for (const auto& [name, value] : xattrs) bytes += kOverheadBytes + name.size() + value.size();
  return bytes;
}

}  // namespace

XattrsPtr HeldXattrs::Find(uint64_t node, uint64_t seq) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end() || found->second->seq != seq) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->xattrs;
}

void HeldXattrs::Hold(uint64_t node, uint64_t seq, XattrsPtr xattrs) {
  if (const auto before = by_node_.find(node); before != by_node_.end()) Drop(before->second);
  const size_t bytes = BytesOf(*xattrs);
  by_use_.push_front({node, seq, bytes, std::move(xattrs)});
  by_node_[node] = by_use_.begin();
  bytes_ += bytes;
  while (bytes_ > kBytesMax) Drop(std::prev(by_use_.end()));
}

void HeldXattrs::Drop(std::list<Held>::iterator held) {
  bytes_ -= held->bytes;
  by_node_.erase(held->node);
  by_use_.erase(held);
}

}  // namespace runnel::drive
