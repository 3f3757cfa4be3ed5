#include "request_table.h"

#include <algorithm>
#include <optional>

namespace runnel::drive {
namespace {

bool IsChange(Op op) {
  switch (op) {
    case Op::kCreate:
    case Op::kMake:
    case Op::kLink:
    case Op::kRemove:
    case Op::kRename:
    case Op::kSetattr:
    case Op::kSetxattr:
    case Op::kCommit: return true;
    default: return false;
  }
}

}  // namespace

int64_t RequestTable::DeadlineOf(Op op) const {
  const uint32_t delay_ms = settings_.deadlines_ms[static_cast<size_t>(op)];
  return delay_ms == 0 ? 0 : front_->NowBootMs() + std::max(delay_ms, deadline_min_ms_.load(std::memory_order_relaxed));
}

void RequestTable::Heartbeat(int64_t late_ms) {
  std::lock_guard lock(mutex_);
  const int64_t now_ms = front_->NowBootMs();
  // The agent's own measure does not run before it has heard that something waits.
  const int64_t silent_ms = waiters_.empty() ? 0 : SilentMs(now_ms);
  late_ms_ += std::max(silent_ms, late_ms - reported_late_ms_);
  reported_late_ms_ = std::max(reported_late_ms_, late_ms);
  heartbeat_at_ms_ = now_ms;
}

int64_t RequestTable::SilentMs(int64_t now_ms) const {
  return heartbeat_at_ms_ == 0 ? 0 : std::max<int64_t>(0, now_ms - heartbeat_at_ms_ - kHeartbeatMs);
}

int64_t RequestTable::LateMs(int64_t now_ms) const { return late_ms_ + SilentMs(now_ms); }

bool RequestTable::PutOff(Held* held, int64_t now_ms) {
  const int64_t late_ms = LateMs(now_ms);
  const int64_t more_ms = std::min(late_ms - held->late_ms, kPutOffMaxMs - held->put_off_ms);
  if (more_ms <= 0) return false;
  held->late_ms = late_ms;
  held->put_off_ms += more_ms;
  held->waiter.deadline_ms += more_ms;
  return true;
}

bool RequestTable::Wait(uint64_t id, Waiter waiter) {
  const ReplyPtr reply = waiter.reply;
  {
    std::lock_guard lock(mutex_);
    if (is_ended_ || waiters_.size() >= kWaitersMax) return false;
    const int64_t now_ms = front_->NowBootMs();
    if (const int64_t soon_ms = now_ms + kEndingWaitMs;
        IsEnding(waiter, now_ms) && (waiter.deadline_ms == 0 || waiter.deadline_ms > soon_ms))
      waiter.deadline_ms = soon_ms;
    const int64_t delay_ms = waiter.deadline_ms == 0 ? 0 : waiter.deadline_ms - now_ms;
    // With nothing to do it says nothing, and is not late.
    if (waiters_.empty() && heartbeat_at_ms_ != 0) heartbeat_at_ms_ = now_ms;
    waiters_.emplace(id, Held{std::move(waiter), delay_ms, LateMs(now_ms)});
  }
  if (reply) reply->OnWaiting(id);
  return true;
}

bool RequestTable::Release(uint64_t id) {
  std::unique_lock lock(mutex_);
  auto found = waiters_.find(id);
  if (found == waiters_.end()) return false;
  Held& held = found->second;
  if (held.is_interrupted || is_ended_) {
    Waiter waiter = std::move(held.waiter);
    const bool was_interrupted = held.is_interrupted;
    const Kind error = was_interrupted ? Kind::kInterrupted : end_error_;
    waiters_.erase(found);
    const Answering answering(this);
    lock.unlock();
    GiveUp(std::move(waiter), error, was_interrupted);
    return false;
  }
  held.is_held = false;
  if (const int64_t deadline_ms = held.waiter.deadline_ms; deadline_ms != 0) {
    const bool is_first = deadlines_.empty() || deadline_ms < deadlines_.begin()->first;
    deadlines_.emplace(deadline_ms, id);
    if (is_first) front_->WakeAt(deadline_ms);
  }
  return true;
}

void RequestTable::EraseDeadline(uint64_t id, int64_t deadline_ms) {
  if (deadline_ms == 0) return;
  for (auto [at, end] = deadlines_.equal_range(deadline_ms); at != end; ++at) {
    if (at->second == id) {
      deadlines_.erase(at);
      return;
    }
  }
}

bool RequestTable::Resume(uint64_t id, const Answer& answer) {
  std::optional<Answering> answering;
  std::function<void(const Answer&)> resume;
  {
    std::lock_guard lock(mutex_);
    auto found = waiters_.find(id);
    if (found == waiters_.end()) return false;
    EraseDeadline(id, found->second.waiter.deadline_ms);
    resume = std::move(found->second.waiter.resume);
    waiters_.erase(found);
    answering.emplace(this);
  }
  resume(answer);
  return true;
}

void RequestTable::GiveUp(Waiter waiter, Kind error, bool was_interrupted) {
  if (waiter.abandon) waiter.abandon(was_interrupted);
  Answer answer;
  answer.error = error;
  answer.is_given_up = true;
  waiter.resume(answer);
}

void RequestTable::Ask(Message message, std::function<void(const Answer&)> settle, bool overtakes) {
  std::lock_guard lock(mutex_);
  const uint64_t id = message.id;
  const bool is_early = message.answered_ns != 0;
  if (IsChange(message.op) && !is_early) changes_.insert(id);
  asks_.emplace(id, AskState{std::move(message), std::move(settle)});
  outgoing_.emplace(outgoing_.end() - static_cast<ptrdiff_t>(overtakes ? early_last_ : 0), id);
  if (!overtakes) early_last_ = is_early ? early_last_ + 1 : 0;
  if (!is_early || outgoing_.size() >= kEarlyAtOnce) return front_->WakeAgent();
  if (early_due_ms_ != 0) return;
  early_due_ms_ = front_->NowBootMs() + kEarlyDelayMs;
  front_->WakeAt(early_due_ms_);
}

void RequestTable::DropAsk(uint64_t id, bool was_interrupted) {
  std::function<void(const Answer&)> settle;  // destroyed outside the lock: it may own replies and files
  std::lock_guard lock(mutex_);
  auto found = asks_.find(id);
  if (found == asks_.end()) return;
  if (was_interrupted && found->second.is_sent) {
    outgoing_.emplace_back(Notice{Notice::kInterrupted, id, 0, {}});
    early_last_ = 0;
    front_->WakeAgent();
  }
  if (!found->second.is_sent) changes_.erase(id);
  settle = std::move(found->second.settle);
  asks_.erase(found);
}

bool RequestTable::IsChangeUnderWay() {
  std::lock_guard lock(mutex_);
  return !changes_.empty();
}

void RequestTable::Notify(Notice notice) {
  std::lock_guard lock(mutex_);
  outgoing_.emplace_back(std::move(notice));
  early_last_ = 0;
  front_->WakeAgent();
}

bool RequestTable::Settle(uint64_t id, const Answer& answer) {
  std::optional<Answering> answering;
  std::function<void(const Answer&)> settle;
  {
    std::lock_guard lock(mutex_);
    changes_.erase(id);
    auto found = asks_.find(id);
    if (found == asks_.end()) return false;
    settle = std::move(found->second.settle);
    asks_.erase(found);
    answering.emplace(this);
  }
  settle(answer);
  return true;
}

void RequestTable::Prolong(uint64_t id) {
  std::lock_guard lock(mutex_);
  auto found = waiters_.find(id);
  if (found == waiters_.end() || found->second.is_held || found->second.delay_ms <= 0) return;
  int64_t& deadline_ms = found->second.waiter.deadline_ms;
  EraseDeadline(id, deadline_ms);
  const int64_t now_ms = front_->NowBootMs();
  deadline_ms = now_ms + found->second.delay_ms;
  found->second.late_ms = LateMs(now_ms);
  // No thread is woken: an earlier one has been, and looks for the next.
  deadlines_.emplace(deadline_ms, id);
}

void RequestTable::Interrupt(uint64_t id) {
  std::unique_lock lock(mutex_);
  auto found = waiters_.find(id);
  if (found == waiters_.end()) return;
  NoteInterrupted(found->second.waiter);
  if (found->second.is_held) {
    found->second.is_interrupted = true;
    return;
  }
  Waiter waiter = std::move(found->second.waiter);
  EraseDeadline(id, waiter.deadline_ms);
  waiters_.erase(found);
  const Answering answering(this);
  lock.unlock();
  GiveUp(std::move(waiter), Kind::kInterrupted, true);
}

void RequestTable::NoteInterrupted(const Waiter& waiter) {
  const int32_t thread = waiter.reply == nullptr ? 0 : waiter.reply->GetCaller().pid;
  if (thread == 0) return;
  const int64_t now_ms = front_->NowBootMs();
  std::erase_if(interrupted_, [now_ms](const auto& each) { return each.second + kEndingMs < now_ms; });
  interrupted_[thread] = now_ms;
}

bool RequestTable::IsEnding(const Waiter& waiter, int64_t now_ms) const {
  if (waiter.reply == nullptr || interrupted_.empty()) return false;
  const auto found = interrupted_.find(waiter.reply->GetCaller().pid);
  return found != interrupted_.end() && now_ms <= found->second + kEndingMs;
}

int64_t RequestTable::Expire(int64_t now_ms) {
  std::optional<Answering> answering;
  std::vector<Waiter> due;
  int64_t next_ms = 0;
  {
    std::lock_guard lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now_ms) {
      const uint64_t id = deadlines_.begin()->second;
      deadlines_.erase(deadlines_.begin());
      auto found = waiters_.find(id);
      if (PutOff(&found->second, now_ms)) {
        deadlines_.emplace(found->second.waiter.deadline_ms, id);
        continue;
      }
      due.push_back(std::move(found->second.waiter));
      waiters_.erase(found);
    }
    if (!deadlines_.empty()) next_ms = deadlines_.begin()->first;
    if (early_due_ms_ != 0 && early_due_ms_ <= now_ms) {
      early_due_ms_ = 0;
      front_->WakeAgent();
    }
    if (early_due_ms_ != 0) next_ms = next_ms == 0 ? early_due_ms_ : std::min(next_ms, early_due_ms_);
    answering.emplace(this);
  }
  for (Waiter& waiter : due) GiveUp(std::move(waiter), Kind::kIo, false);
  return next_ms;
}

void RequestTable::End(Kind error) {
  std::optional<Answering> answering;
  std::vector<Waiter> all;
  {
    std::lock_guard lock(mutex_);
    is_ended_ = true;
    end_error_ = error;
    for (auto at = waiters_.begin(); at != waiters_.end();) {
      if (at->second.is_held) {
        ++at;
        continue;
      }
      all.push_back(std::move(at->second.waiter));
      at = waiters_.erase(at);
    }
    deadlines_.clear();
    answering.emplace(this);
  }
  for (Waiter& waiter : all) GiveUp(std::move(waiter), error, false);
}

void RequestTable::AwaitAnswers() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return answering_ == 0; });
}

std::vector<Outgoing> RequestTable::Drain(size_t most) {
  std::vector<Outgoing> batch;
  std::lock_guard lock(mutex_);
  for (; !outgoing_.empty() && batch.size() < most; outgoing_.pop_front()) {
    auto& next = outgoing_.front();
    if (auto* notice = std::get_if<Notice>(&next)) {
      batch.emplace_back(std::move(*notice));
    } else if (const auto found = asks_.find(std::get<uint64_t>(next)); found != asks_.end()) {
      found->second.is_sent = true;
      batch.emplace_back(std::move(found->second.message));
    }
  }
  early_due_ms_ = 0;
  early_last_ = std::min(early_last_, outgoing_.size());
  if (!outgoing_.empty()) front_->WakeAgent();
  return batch;
}

bool RequestTable::IsWaiting(uint64_t id) {
  std::lock_guard lock(mutex_);
  return waiters_.contains(id);
}

size_t RequestTable::WaiterCount() {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace runnel::drive
