#include "second_tries.h"

#include <utility>

namespace runnel::drive {

SecondTries::Try* SecondTries::Find(int32_t thread, int64_t now_ms) {
  const auto at = tries_.find(thread);
  return at != tries_.end() && now_ms < at->second.until_ms ? &at->second : nullptr;
}

SecondTries::Answer SecondTries::Judge(int32_t thread, const Named& named, Step step, bool is_doubtful,
                                       int64_t now_ms) {
  Try* const second = Find(thread, now_ms);
  const bool is_of_walk = second != nullptr && step != Step::kLast && MayContinue(*second, named.name);
  const bool is_second = is_of_walk || (second != nullptr && IsOf(*second, named));
  if (is_doubtful && !is_second) {
    const std::string_view looked_for = step == Step::kLookup ? named.name : std::string_view();
    Try next{now_ms + kRetryMs, named.node, named.folder, std::string(named.name), std::string(looked_for), false};
    return Note(thread, std::move(next), now_ms) ? Answer::kSendBack : Answer::kServe;
  }
  if (second == nullptr) return Answer::kServe;
  if (step == Step::kLast) {
    tries_.erase(thread);
  } else if (step == Step::kLookup) {
    *second = {now_ms + kRetryMs, 0, named.folder, std::string(named.name), {}, true};
  }
  return is_second ? Answer::kServeSecond : Answer::kServe;
}

void SecondTries::NoteSentBack(int32_t thread, uint64_t node, int64_t now_ms) {
  Note(thread, {now_ms + kRetryMs, node, 0, {}, {}, false}, now_ms);
}

void SecondTries::NoteLooks(int32_t thread, int64_t now_ms) {
  if (Try* second = Find(thread, now_ms)) second->until_ms = now_ms + kLooksMs;
}

void SecondTries::NoteFound(int32_t thread, uint64_t folder, std::string_view name, uint64_t node, int64_t now_ms) {
  Try* const second = Find(thread, now_ms);
  if (second == nullptr) return;
  // Another call's: the walk has found nothing, and nothing followed.
  if (second->node == 0 && second->is_at_end && !(second->folder == folder && second->name == name)) {
    tries_.erase(thread);
    return;
  }
  second->until_ms = now_ms + kRetryMs;
  second->folder = folder;
  second->name = name;
  second->node = node;
  second->is_at_end = name == second->looked_for;
}

// Rename looks up two names, which may be the same one in two folders.
bool SecondTries::MayContinue(const Try& second, std::string_view name) {
  return !second.is_at_end || (!name.empty() && name == second.looked_for);
}

bool SecondTries::IsOf(const Try& second, const Named& named) {
  const auto is_name = [&second](uint64_t folder, std::string_view name) {
    return !name.empty() && folder == second.folder && name == second.name;
  };
  if (is_name(named.folder, named.name) || is_name(named.to_folder, named.to_name)) return true;
  return second.node != 0 &&
         (named.node == second.node || named.folder == second.node || named.to_folder == second.node);
}

bool SecondTries::Note(int32_t thread, Try second, int64_t now_ms) {
  // Programs of other containers have no number here, and cannot be told apart.
  if (thread == 0) return false;
  if (tries_.size() >= kThreadsMax)
    std::erase_if(tries_, [now_ms](const auto& each) { return each.second.until_ms <= now_ms; });
  if (tries_.size() >= kThreadsMax && !tries_.contains(thread)) return false;
  tries_[thread] = std::move(second);
  return true;
}

}  // namespace runnel::drive
