// The folders that are watched, by the number of their watch and by where they are. Only a record: nothing here looks
// at the disk, so a folder may be somewhere else by now.
#ifndef RUNNEL_FILE_WATCH_TREE_H_
#define RUNNEL_FILE_WATCH_TREE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace runnel {

struct WatchedFolder {
  int watch = -1;
  // nullptr for the root, and for a folder that was seen to leave its place and not yet to arrive anywhere.
  WatchedFolder* parent = nullptr;
  std::string name;
  std::map<std::string, WatchedFolder*> children;
  // The scan that last saw it.
  uint64_t scan = 0;
};

class WatchTree {
 public:
  explicit WatchTree(int root_watch);

  WatchedFolder* root() { return root_; }
  // nullptr when there is none.
  WatchedFolder* Find(int watch);
  WatchedFolder* Child(const WatchedFolder& parent, const std::string& name);

  WatchedFolder* Add(WatchedFolder* parent, const std::string& name, int watch);

  // Puts a folder, with what is beneath it, into a place that is free. False when that place is beneath the folder
  // itself, which says that the record is out of date.
  bool Move(WatchedFolder* folder, WatchedFolder* parent, const std::string& name);

  // Takes it out of its place; it stays known, without a path.
  void Detach(WatchedFolder* folder);

  // False, with `path` untouched, for a folder without a place.
  bool PathOf(const WatchedFolder& folder, std::string* path) const;

  // Forgets one folder; those beneath it lose their place.
  void Erase(WatchedFolder* folder);

  // The folder and all beneath it.
  std::vector<WatchedFolder*> Subtree(WatchedFolder* folder) const;
  std::vector<WatchedFolder*> All() const;

 private:
  std::unordered_map<int, std::unique_ptr<WatchedFolder>> folders_;
  WatchedFolder* root_;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_WATCH_TREE_H_
