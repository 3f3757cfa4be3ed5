#include "early_answers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "early_record.h"

namespace runnel::drive {

bool EarlyAnswers::IsInTime(int64_t now_ms) const {
  return under_way_.empty() || (under_way_.size() < kUnderWayMax && now_ms - under_way_.front().at_ms < kLateMs);
}

bool EarlyAnswers::Add(Message* message, std::vector<uint64_t> nodes, int64_t now_ms) {
  const uint64_t bytes = message->op == Op::kCommit ? message->size_bytes : 0;
  const size_t place = bytes_ + bytes > kBytesMax ? 0 : log_.Append(EncodeEarly(*message));
  if (place == 0) return false;
  message->early_number = log_.last();
  Change change{.id = message->id,
                .number = message->early_number,
                .at_ms = now_ms,
                .place = place,
                .bytes = bytes,
                .sets_mtime = message->op == Op::kSetattr && (message->set & Message::kMtime) != 0,
                .nodes = std::move(nodes),
                .names = {}};
  if (message->folder != 0) change.names.emplace_back(message->folder, message->name);
  if (message->to_folder != 0) change.names.emplace_back(message->to_folder, message->to_name);
  for (const uint64_t node : change.nodes) {
    ++nodes_[node].changes;
    if (change.sets_mtime) ++nodes_[node].mtimes;
  }
  bytes_ += bytes;
  for (const auto& [folder, name] : change.names) ++names_[folder][name];
  under_way_.push_back(std::move(change));
  return true;
}

bool EarlyAnswers::MayStack(uint64_t node, bool is_over_unsent) {
  if (stacked_.size() >= kStackedNodesMax) stacked_.clear();
  if (is_over_unsent && ++stacked_[node] <= kStackedMax) return true;
  stacked_.erase(node);
  return !is_over_unsent;
}

bool EarlyAnswers::HoldsName(uint64_t folder, const std::string& name) const {
  const auto names = names_.find(folder);
  return names != names_.end() && names->second.contains(name);
}

EarlyAnswers::Change* EarlyAnswers::Find(uint64_t id) {
  const auto found = std::lower_bound(under_way_.begin(), under_way_.end(), id,
                                      [](const Change& change, uint64_t wanted) { return change.id < wanted; });
  return found == under_way_.end() || found->id != id ? nullptr : &*found;
}

bool EarlyAnswers::TakeIn(uint64_t id) {
  Change* change = Find(id);
  if (change == nullptr || std::exchange(change->is_taken_in, true)) return false;
  for (const uint64_t node : change->nodes) {
    Held& held = nodes_[node];
    if (change->sets_mtime) --held.mtimes;
    if (--held.changes == 0) nodes_.erase(node);
  }
  for (const auto& [folder, name] : change->names) {
    auto& names = names_[folder];
    if (--names[name] == 0) names.erase(name);
    if (names.empty()) names_.erase(folder);
  }
  return change->number <= said_;
}

std::vector<uint64_t> EarlyAnswers::TakeDropped() {
  std::vector<uint64_t> free;
  std::copy_if(dropped_.begin(), dropped_.end(), std::back_inserter(free),
               [this](uint64_t folder) { return !HoldsNamesOf(folder); });
  for (const uint64_t folder : free) dropped_.erase(folder);
  return free;
}

void EarlyAnswers::Recorded(uint64_t id) {
  Change* change = Find(id);
  if (change == nullptr) return;
  change->is_recorded = true;
  log_.Recorded(change->place);
  for (; !under_way_.empty() && under_way_.front().is_recorded; under_way_.pop_front())
    bytes_ -= under_way_.front().bytes;
  if (under_way_.empty()) log_.Rewind();
}

}  // namespace runnel::drive
