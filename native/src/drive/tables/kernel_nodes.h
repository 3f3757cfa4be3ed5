// Records of what the kernel holds of us: one per kernel id, from the first answer that named it until the kernel has
// forgotten it and no file is open on it. A kernel id is the node's own (the root is 1), or an alias while the kernel
// was told of that one with another size.
//
// DriveCore guards it: it is not thread-safe. Records stay at their address.
#ifndef RUNNEL_DRIVE_TABLES_KERNEL_NODES_H_
#define RUNNEL_DRIVE_TABLES_KERNEL_NODES_H_

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "src/drive/drive.h"

namespace runnel::drive {

class File;

struct KernelNode {
  // A program that lists a tree makes the kernel hold all of it: what most records never need lies apart.
  struct Rare {
    // All pages that the kernel holds are of this version. Not so from an open without KEEP_CACHE until a request by
    // its handle shows that the kernel has dropped the older ones.
    bool has_pages = false;
    uint64_t pages_version = 0;
    // The name it was found under is bound to something else, and the kernel may not know it before this moment on its
    // clock. Not of a folder: see StaleFolders.
    int64_t stale_until_ms = 0;
    uint64_t stale_mark = 0;
    // A request by id was answered ESTALE (kAsked); the kernel has looked the name up again (kLookedUp): its next OPEN
    // is served.
    enum class Retry : uint8_t { kNone, kAsked, kLookedUp } retry = Retry::kNone;
    // Looked up just after some request was answered ESTALE, so perhaps by the one that may not be answered so again:
    // until then it is opened even if its version has changed once more.
    int64_t looked_up_until_ms = 0;
    // It has lost its last name. Taken here: what fstat still shows. Taken elsewhere: served only to who has just
    // looked it up.
    std::unique_ptr<Entry> removed;
    bool was_removed_here = false;
    // Bytes of disk that a version took when it was last open or cut here: for as long as its content is not in the
    // table.
    uint64_t allocated_version = 0;
    uint64_t allocated_bytes = 0;
    int64_t atime_set_ns = 0;  // when utimens said it, which is a change of the node
  };

  // The kernel counts timeouts in ticks, rounded up, from when it reads the answer.
  static constexpr int64_t kRoundingMs = 20;

  uint64_t id = 0;
  uint64_t node = 0;
  uint64_t lookups = 0;        // what FORGET counts down
  std::shared_ptr<File> file;  // at most one per kernel id: its handles share pages and size in the kernel
  uint64_t given_version = 0;  // whose size and times the kernel was last told: see Give
  uint64_t given_bytes = 0;    // that version's size
  enum class Told : uint8_t { kNothing, kOneSize, kSeveral } told = Told::kNothing;
  bool is_folder = false;  // known once it was given
  // On the kernel's clock. It may answer stat, and find the node under a name it was given, itself until then.
  int64_t attributes_until_ms = 0;
  int64_t named_until_ms = 0;
  int64_t changed_ms = -(int64_t{1} << 40);  // when the agent last put a change of it
  // The mtime when the kernel first saw it, or what utimens said; kept no longer than this record.
  int64_t atime_ns = 0;

  const Rare& rare() const { return rare_ != nullptr ? *rare_ : Nothing(); }
  Rare& MakeRare() {
    if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
    return *rare_;
  }
  bool HasRare() const { return rare_ != nullptr; }
  // Linux drops an answer with attributes when another answer or an invalidation has come to the id since it asked
  // (attr_version in fs/fuse/inode.c), and an answer that was given first may come last. So only of an id that was told
  // no other version of another size the kernel has this one's for certain.
  bool WasToldOnly(uint64_t version) const { return told == Told::kOneSize && given_version == version; }
  bool MayBeTold(uint64_t version, uint64_t size_bytes) const {
    return told == Told::kNothing || WasToldOnly(version) || (told == Told::kOneSize && given_bytes == size_bytes);
  }
  // The kernel is told the size and times of a version. Another size than that of its pages has cut them, also when the
  // first one is told again.
  void Give(uint64_t version, uint64_t size_bytes) {
    told = MayBeTold(version, size_bytes) ? Told::kOneSize : Told::kSeveral;
    GiveOwn(version, size_bytes);
    if (rare_ != nullptr && rare_->pages_version != version) rare_->has_pages = false;
  }
  // Notes that what the kernel itself wrote or cut is a version now.
  void GiveOwn(uint64_t version, uint64_t size_bytes) {
    given_version = version;
    given_bytes = size_bytes;
  }
  // The kernel may keep the attributes for so long: not at all when it is given no time, and then it need not be told
  // to forget them.
  void GiveTime(uint32_t timeout_ms, int64_t now_ms) {
    if (timeout_ms > 0) attributes_until_ms = std::max(attributes_until_ms, now_ms + timeout_ms + kRoundingMs);
  }

 private:
  static const Rare& Nothing();
  std::unique_ptr<Rare> rare_;
};

class KernelNodes {
 public:
  explicit KernelNodes(uint64_t root) : root_(root) {}

  // The kernel id that is the node's own. The root and node 1 change places, so no id means two nodes.
  uint64_t IdOf(uint64_t node) const { return node == root_ ? kRootId : node == kRootId ? root_ : node; }
  KernelNode* Find(uint64_t id);
  // The record that the next lookup of the node gets.
  KernelNode& Current(uint64_t node);
  KernelNode* FindCurrent(uint64_t node);
  // Gives a node another current id than the former: its own when the kernel holds nothing by that, else a new alias.
  KernelNode& Next(const KernelNode& former);
  // Forgets the record when the kernel has and nothing is open on it.
  void Settle(KernelNode& kernel_node);
  // Calls `each` for every record of the node.
  template <typename Each>
  void ForEach(uint64_t node, Each each) {
    auto [at, end] = aliases_.equal_range(node);
    if (KernelNode* own = Find(IdOf(node))) each(*own);
    for (; at != end; ++at) {
      if (KernelNode* alias = Find(at->second)) each(*alias);
    }
  }
  size_t Count() const { return nodes_.size(); }

 private:
  KernelNode& Make(uint64_t id, uint64_t node);

  const uint64_t root_;
  uint64_t next_alias_ = kAliasBase;  // even ones only: they pass through JavaScript's numbers in the memory drive
  std::unordered_map<uint64_t, KernelNode> nodes_;
  std::unordered_map<uint64_t, uint64_t> current_;       // node → id, where it is an alias
  std::unordered_multimap<uint64_t, uint64_t> aliases_;  // node → id
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_KERNEL_NODES_H_
