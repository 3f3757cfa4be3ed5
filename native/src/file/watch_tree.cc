#include "watch_tree.h"

#include <utility>

namespace runnel {

WatchTree::WatchTree(int root_watch) {
  auto root = std::make_unique<WatchedFolder>();
  root->watch = root_watch;
  root_ = root.get();
  folders_.emplace(root_watch, std::move(root));
}

WatchedFolder* WatchTree::Find(int watch) {
  const auto found = folders_.find(watch);
  return found == folders_.end() ? nullptr : found->second.get();
}

WatchedFolder* WatchTree::Child(const WatchedFolder& parent, const std::string& name) {
  const auto found = parent.children.find(name);
  return found == parent.children.end() ? nullptr : found->second;
}

WatchedFolder* WatchTree::Add(WatchedFolder* parent, const std::string& name, int watch) {
  auto folder = std::make_unique<WatchedFolder>();
  folder->watch = watch;
  folder->parent = parent;
  folder->name = name;
  WatchedFolder* added = folder.get();
  parent->children[name] = added;
  folders_[watch] = std::move(folder);
  return added;
}

bool WatchTree::Move(WatchedFolder* folder, WatchedFolder* parent, const std::string& name) {
  for (const WatchedFolder* above = parent; above != nullptr; above = above->parent) {
    if (above == folder) return false;
  }
  Detach(folder);
  folder->parent = parent;
  folder->name = name;
  parent->children[name] = folder;
  return true;
}

void WatchTree::Detach(WatchedFolder* folder) {
  if (folder->parent != nullptr) folder->parent->children.erase(folder->name);
  folder->parent = nullptr;
}

bool WatchTree::PathOf(const WatchedFolder& folder, std::string* path) const {
  std::vector<const WatchedFolder*> way;
  const WatchedFolder* at = &folder;
  for (; at->parent != nullptr; at = at->parent) way.push_back(at);
  if (at != root_) return false;
  path->clear();
  for (auto part = way.rbegin(); part != way.rend(); ++part) {
    if (!path->empty()) path->push_back('/');
    path->append((*part)->name);
  }
  return true;
}

void WatchTree::Erase(WatchedFolder* folder) {
  for (const auto& [name, child] : folder->children) child->parent = nullptr;
  Detach(folder);
  folders_.erase(folder->watch);
}

std::vector<WatchedFolder*> WatchTree::Subtree(WatchedFolder* folder) const {
  std::vector<WatchedFolder*> found = {folder};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [name, child] : found[i]->children) found.push_back(child);
  }
  return found;
}

std::vector<WatchedFolder*> WatchTree::All() const {
  std::vector<WatchedFolder*> all;
  for (const auto& [watch, folder] : folders_) all.push_back(folder.get());
  return all;
}

}  // namespace runnel
