#include "entry_table.h"

#include <algorithm>

namespace runnel::drive {

EntryTable::Folder& EntryTable::Touch(uint64_t folder) {
  auto [at, is_new] = folders_.try_emplace(folder);
  if (is_new) {
    uses_.push_front(folder);
    at->second.use = uses_.begin();
  } else if (at->second.use != uses_.begin()) {
    uses_.splice(uses_.begin(), uses_, at->second.use);
  }
  return at->second;
}

EntryTable::Found EntryTable::Find(uint64_t folder, std::string_view name) {
  auto at = folders_.find(folder);
  if (at == folders_.end()) return {Known::kUnknown, nullptr, nullptr};
  Folder& found = at->second;
  if (found.use != uses_.begin()) uses_.splice(uses_.begin(), uses_, found.use);
  auto binding = found.names.find(name);
  if (binding == found.names.end()) {
    return {found.is_complete ? Known::kAbsent : Known::kUnknown, nullptr, nullptr};
  }
  if (binding->second.node == 0) return {Known::kAbsent, &binding->second, nullptr};
  auto node = nodes_.find(binding->second.node);
  if (node == nodes_.end()) return {Known::kUnknown, &binding->second, nullptr};
  return {Known::kBound, &binding->second, &node->second.entry};
}

Entry* EntryTable::FindNode(uint64_t node) {
  auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second.entry;
}

uint32_t EntryTable::NameCount(uint64_t node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? 0 : at->second.names;
}

uint64_t EntryTable::ParentOf(uint64_t node) const {
  auto at = nodes_.find(node);
  return at == nodes_.end() ? 0 : at->second.parent;
}

bool EntryTable::NameOf(uint64_t folder, uint64_t node, std::string* name) const {
  auto at = folders_.find(folder);
  if (at == folders_.end()) return false;
  const Names& names = at->second.names;
  auto found = std::find_if(names.begin(), names.end(), [node](const auto& each) { return each.second.node == node; });
  if (found == names.end()) return false;
  *name = found->first;
  return true;
}

void EntryTable::Remember(Folder* folder, const std::string& name) {
  if (folder->fold == nullptr) return;
  std::string folded = folder->fold(name);
  const auto [at, end] = folder->alike.equal_range(folded);
  const bool is_there = std::any_of(at, end, [&name](const auto& each) { return each.second == name; });
  if (!is_there) folder->alike.emplace(std::move(folded), name);
}

bool EntryTable::FindAlike(uint64_t folder, const std::string& folded, const Fold& fold, std::string* name) {
  if (!IsComplete(folder)) return false;
  Folder& found = Touch(folder);
  if (found.fold == nullptr || found.alike.size() > 2 * found.names.size() + kGoneMax) {
    found.alike.clear();
    found.fold = fold;
    for (const auto& [each, binding] : found.names) Remember(&found, each);
  }
  name->clear();
  for (auto [at, end] = found.alike.equal_range(folded); at != end; ++at) {
    const auto binding = found.names.find(at->second);
    const bool is_there = binding != found.names.end() && binding->second.node != 0;
    if (is_there && (name->empty() || at->second < *name)) *name = at->second;
  }
  return true;
}

bool EntryTable::FindAny(uint64_t folder, std::string* name) {
  if (!IsComplete(folder)) return false;
  name->clear();
  for (const auto& [each, binding] : Touch(folder).names) {
    if (binding.node != 0 && (name->empty() || each < *name)) *name = each;
  }
  return true;
}

bool EntryTable::IsComplete(uint64_t folder) const {
  auto at = folders_.find(folder);
  return at != folders_.end() && at->second.is_complete;
}

bool EntryTable::List(uint64_t folder, std::vector<Listed>* names) {
  if (!IsComplete(folder)) return false;
  Folder& found = Touch(folder);
  names->reserve(names->size() + found.names.size());
  for (const auto& [name, binding] : found.names) {
    if (binding.node == 0) continue;
    auto node = nodes_.find(binding.node);
    if (node != nodes_.end()) names->push_back({name, binding.node, node->second.entry.type});
  }
  return true;
}

void EntryTable::Bind(uint64_t folder, const Entry& entry) {
  NodeRecord& record = nodes_[entry.node];
  record.entry = entry;
  record.parent = folder;
  ++record.names;
}

std::optional<Entry> EntryTable::Unbind(uint64_t node) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) return std::nullopt;
  if (at->second.names > 0) --at->second.names;
  if (at->second.names > 0 || node == root_) return std::nullopt;
  std::optional<Entry> last = std::move(at->second.entry);
  nodes_.erase(at);
  return last;
}

void EntryTable::KeepLoose(uint64_t node) {
  loose_.push_back(node);
  while (loose_.size() > kLooseMax) {
    const uint64_t oldest = loose_.front();
    loose_.pop_front();
    auto at = nodes_.find(oldest);
    if (at != nodes_.end() && at->second.names == 0 && oldest != root_) nodes_.erase(at);
  }
}

void EntryTable::Put(uint64_t folder, std::string_view name, const Entry* entry, int64_t now_ms,
                     std::vector<Lost>* lost) {
  Folder& in = Touch(folder);
  const uint64_t node = entry == nullptr ? 0 : entry->node;
  auto at = in.names.find(name);
  const bool was_known = at != in.names.end() || in.is_complete;
  if (at == in.names.end()) {
    if (node == 0 && in.is_complete) return;  // absent already
    at = in.names.emplace(std::string(name), Binding{}).first;
    ++bindings_;
    Remember(&in, at->first);
    if (was_known) at->second.changed_ms = now_ms;
  }
  Binding& binding = at->second;
  const Binding before = binding;
  if (before.node == node) {
    if (node == 0) return;
    NodeRecord& record = nodes_[node];
    const bool is_other = record.entry.node != 0 && record.entry.version != entry->version;
    record.entry = *entry;
    record.parent = folder;
    if (is_other) {
      binding.changed_ms = now_ms;
      lost->push_back({at->first, before, false, true, std::nullopt});
    }
    return;
  }
  if (before.node != 0) binding.changed_ms = now_ms;
  binding.node = node;
  binding.given_until_ms = kNeverMs;
  binding.given_id = 0;
  if (node != 0) Bind(folder, *entry);
  if (before.node != 0) lost->push_back({at->first, before, true, false, Unbind(before.node)});
  if (node == 0 && in.is_complete) {  // a complete folder needs no row for an absent name
    in.names.erase(at);
    --bindings_;
  }
}

void EntryTable::PutFolder(uint64_t folder, std::vector<NewName> listing, int64_t now_ms, std::vector<Lost>* lost) {
  Folder& in = Touch(folder);
  Names old;
  old.swap(in.names);
  bindings_ -= old.size();
  const bool was_complete = in.is_complete;
  in.names.reserve(listing.size());
  in.alike.clear();
  in.fold = nullptr;
  for (NewName& item : listing) {
    Binding binding;
    binding.node = item.entry.node;
    auto before = old.find(item.name);
    if (before == old.end()) {
      if (was_complete) binding.changed_ms = now_ms;
    } else if (before->second.node == binding.node) {
      const Entry* known = FindNode(binding.node);
      binding = before->second;
      if (known != nullptr && known->version != item.entry.version) {
        binding.changed_ms = now_ms;
        lost->push_back({item.name, before->second, false, true, std::nullopt});
      }
    } else {
      binding.changed_ms = now_ms;
      if (before->second.node != 0) lost->push_back({item.name, before->second, true, false, std::nullopt});
    }
    Bind(folder, item.entry);
    const auto [at, is_new] = in.names.insert_or_assign(std::move(item.name), binding);
    (void)at;
    if (is_new) ++bindings_;
  }
  for (auto& [name, binding] : old) {
    if (binding.node == 0) continue;
    std::optional<Entry> last = Unbind(binding.node);
    if (in.names.find(name) == in.names.end()) lost->push_back({name, binding, true, false, std::move(last)});
  }
  in.is_complete = true;
}

bool EntryTable::PutNode(const Entry& entry) {
  auto [at, is_new] = nodes_.try_emplace(entry.node);
  const bool is_other = !is_new && at->second.entry.version != entry.version;
  at->second.entry = entry;
  if (is_new && entry.node != root_) KeepLoose(entry.node);
  return is_other;
}

void EntryTable::Drop(uint64_t folder, std::vector<Lost>* lost) {
  auto at = folders_.find(folder);
  if (at == folders_.end()) return;
  Names names;
  names.swap(at->second.names);
  bindings_ -= names.size();
  uses_.erase(at->second.use);
  folders_.erase(at);
  for (auto& [name, binding] : names) {
    if (binding.node == 0) continue;
    if (binding.given_until_ms != kNeverMs) lost->push_back({name, binding, true, false, std::nullopt});
    Unbind(binding.node);
  }
}

bool EntryTable::NextToEvict(uint64_t* folder) const {
  if (bindings_ <= entries_max_ || uses_.size() < 2) return false;
  *folder = uses_.back();
  return true;
}

std::vector<uint64_t> EntryTable::Folders() const { return {uses_.begin(), uses_.end()}; }

}  // namespace runnel::drive
