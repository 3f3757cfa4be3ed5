// Table of what the agent has said about names and attributes: by folder and name, and by node. Bounded by entriesMax:
// the least recently used folders are dropped whole; the root's attributes stay. A folder may be known completely, and
// then a name it lacks is known absent.
//
// DriveCore guards it: it is not thread-safe. It knows nothing of leases or the kernel but the moment until which a
// binding may be in the kernel's cache, which the core writes and reads.
#ifndef RUNNEL_DRIVE_TABLES_ENTRY_TABLE_H_
#define RUNNEL_DRIVE_TABLES_ENTRY_TABLE_H_

#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/drive/drive.h"

namespace runnel::drive {

class EntryTable {
 public:
  struct Binding {
    uint64_t node = 0;  // 0: known absent
    // When it last became another node, another version, or absent; kNeverMs: not since it is known here.
    int64_t changed_ms = kNeverMs;
    // The kernel was given it under this id until then, on its clock.
    int64_t given_until_ms = kNeverMs;
    uint64_t given_id = 0;
  };
  static constexpr int64_t kNeverMs = -(int64_t{1} << 40);

  enum class Known { kUnknown, kAbsent, kBound };
  struct Found {
    Known known;
    Binding* binding;    // null unless the table has a row for the name
    const Entry* entry;  // null unless kBound
  };
  // A binding that a change took away.
  struct Lost {
    std::string name;
    Binding before;
    bool is_rebound;            // bound to another node now, or absent
    bool is_other_version;      // same node
    std::optional<Entry> last;  // of a node that has no name here any longer
  };
  // A name of a listing, as handed to an open folder.
  struct Listed {
    std::string name;
    uint64_t node;
    FileType type;
  };
  struct NewName {
    std::string name;
    Entry entry;
  };

  EntryTable(uint64_t root, uint64_t entries_max) : root_(root), entries_max_(entries_max) {}

  Found Find(uint64_t folder, std::string_view name);
  // Null when nothing is known of the node. Valid until the next change.
  Entry* FindNode(uint64_t node);
  // The folder that a folder was last seen in, else 0.
  uint64_t ParentOf(uint64_t node) const;
  // Names of a node that are known.
  uint32_t NameCount(uint64_t node) const;
  // A name of the node in that folder; false when none is known. Looks at every name of the folder.
  bool NameOf(uint64_t folder, uint64_t node, std::string* name) const;
  using Fold = std::function<std::string(std::string_view)>;
  // The first name, in the order of bytes, of those that fold so, or of all; "" when there is none. False unless the
  // folder is complete. Which names fold how is remembered from the first question on.
  bool FindAlike(uint64_t folder, const std::string& folded, const Fold& fold, std::string* name);
  bool FindAny(uint64_t folder, std::string* name);
  bool IsComplete(uint64_t folder) const;
  // False unless complete.
  bool List(uint64_t folder, std::vector<Listed>* names);

  // Entry null: known absent. Appends to `lost` what it took away.
  void Put(uint64_t folder, std::string_view name, const Entry* entry, int64_t now_ms, std::vector<Lost>* lost);
  void PutFolder(uint64_t folder, std::vector<NewName> listing, int64_t now_ms, std::vector<Lost>* lost);
  // True when the node was known at another version.
  bool PutNode(const Entry& entry);
  void Drop(uint64_t folder, std::vector<Lost>* lost);
  // Folders to drop until the bound holds, least recently used first; the one used last stays.
  bool NextToEvict(uint64_t* folder) const;

  std::vector<uint64_t> Folders() const;
  uint64_t EntryCount() const { return bindings_; }

 private:
  struct NodeRecord {
    Entry entry;
    uint32_t names = 0;   // bindings of it in this table
    uint64_t parent = 0;  // of the last binding
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_map<std::string, Binding, Hash, std::equal_to<>>;
  struct Folder {
    Names names;
    bool is_complete = false;
    std::list<uint64_t>::iterator use;
    // Folded → name, from the first FindAlike on; names that have gone since may be in it.
    std::unordered_multimap<std::string, std::string> alike;
    Fold fold;
  };
  // Nodes known without a name (attributes asked by id): so many are kept.
  static constexpr size_t kLooseMax = 4096;

  // Names that have gone are swept when there are more of them than of others, and so many.
  static constexpr size_t kGoneMax = 1024;

  Folder& Touch(uint64_t folder);
  static void Remember(Folder* folder, const std::string& name);
  // Both count names. Unbind forgets a node without one, and returns what was known of it.
  void Bind(uint64_t folder, const Entry& entry);
  std::optional<Entry> Unbind(uint64_t node);
  void KeepLoose(uint64_t node);

  const uint64_t root_;
  const uint64_t entries_max_;
  std::unordered_map<uint64_t, Folder> folders_;
  std::unordered_map<uint64_t, NodeRecord> nodes_;
  std::list<uint64_t> uses_;  // most recent first
  std::deque<uint64_t> loose_;
  uint64_t bindings_ = 0;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_ENTRY_TABLE_H_
