// Every request of a program that waits (a waiter: deadline, interrupt, answered exactly once), every question the
// agent has not answered (an ask), and the queue of what the agent has not yet been told. A simple operation has one of
// each under the same id; a fetch or a commit is one ask that several waiters wait for, or none.
//
// Thread-safe; its mutex is a leaf: nothing is called while it is held but Front::WakeAgent and Front::WakeAt.
// Waiters hold their place in the table until their deadline, so a slow agent costs memory (kWaitersMax) and never a
// thread.
#ifndef RUNNEL_DRIVE_TABLES_REQUEST_TABLE_H_
#define RUNNEL_DRIVE_TABLES_REQUEST_TABLE_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "src/drive/drive.h"

namespace runnel::drive {

using Outgoing = std::variant<Message, Notice>;

class RequestTable {
 public:
  struct Waiter {
    ReplyPtr reply;
    int64_t deadline_ms = 0;                    // CLOCK_BOOTTIME; 0 = never
    std::function<void(const Answer&)> resume;  // answers the program
    std::function<void(bool was_interrupted)>
        abandon;  // when it was given up: takes the waiter off whatever it waited for
  };

  RequestTable(Front* front, const CoreSettings& settings) : front_(front), settings_(settings) {}

  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // The moment a request of this kind that begins now is given up, unless the agent is late meanwhile; 0 = never.
  int64_t DeadlineOf(Op op) const;
  // From now on a request that has a deadline has so long at the least.
  void SetDeadlineMin(uint32_t delay_ms) { deadline_min_ms_ = delay_ms; }
  // The agent gets on; so much time it has been late in all, in ms. No deadline runs while it is late: by what it says,
  // and while it should have said something and has not. An agent that has never said so is never late.
  void Heartbeat(int64_t late_ms);

  // Enters the waiter (for kEndingWaitMs at most, if its caller has just been interrupted: it is to end), tells its
  // reply, and leaves it held: it ends neither by interrupt nor by deadline before Release, which gives false when it
  // was interrupted meanwhile and has ended. False from Wait: too many wait already, nothing was entered.
  bool Wait(uint64_t id, Waiter waiter);
  bool Release(uint64_t id);
  // Ends a waiter; false when it had ended already.
  bool Resume(uint64_t id, const Answer& answer);

  // Queues a question; `settle` runs once, on the agent's thread, unless the ask is dropped before. One that overtakes
  // goes ahead of what was answered early, and of nothing else.
  void Ask(Message message, std::function<void(const Answer&)> settle, bool overtakes = false);
  // The agent is asked for a change that it has not answered, if only for somebody who waits no longer.
  bool IsChangeUnderWay();
  // The question is moot. An answer that comes later is ignored.
  void DropAsk(uint64_t id, bool was_interrupted);
  void Notify(Notice notice);

  bool Settle(uint64_t id, const Answer& answer);
  // The waiter has as long again as it had in the beginning.
  void Prolong(uint64_t id);
  void Interrupt(uint64_t id);
  // Gives up what is due; the next deadline, or 0.
  int64_t Expire(int64_t now_ms);
  // Gives up everything, now and from now on.
  void End(Kind error);
  // After End: waits until no other thread is in the middle of an answer, which uses what the request held open.
  void AwaitAnswers();

  // Up to `most` things for the agent, in order.
  std::vector<Outgoing> Drain(size_t most);
  size_t WaiterCount();
  bool IsWaiting(uint64_t id);

 private:
  struct Held {
    Waiter waiter;
    int64_t delay_ms = 0;    // how long it had in the beginning
    int64_t late_ms = 0;     // how late the agent had been in all when the deadline was last set
    int64_t put_off_ms = 0;  // by how much the deadline was put off because it was late
    bool is_held = true;
    bool is_interrupted = false;
  };
  struct AskState {
    Message message;
    std::function<void(const Answer&)> settle;
    bool is_sent = false;
  };

  static constexpr size_t kWaitersMax = 65536;
  // A program that a person wants gone may undo and close much before it goes: as long as this after an interrupt, its
  // waits are short.
  static constexpr int64_t kEndingMs = 2000;
  static constexpr int64_t kEndingWaitMs = 200;
  // While something waits the agent says that it gets on several times in this.
  static constexpr int64_t kHeartbeatMs = 250;
  // An agent that never gets on again must not hold programs for ever.
  static constexpr int64_t kPutOffMaxMs = 60'000;

  // The agent hears of what was answered early when there is so much of it, or after so long: nobody waits for it.
  static constexpr size_t kEarlyAtOnce = 64;
  static constexpr int64_t kEarlyDelayMs = 4;

  // Counts answers from when they are taken out of the tables, under mutex_, until they have run.
  class Answering {
   public:
    explicit Answering(RequestTable* table) : table_(table) { ++table->answering_; }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;
    ~Answering() {
      std::lock_guard lock(table_->mutex_);
      if (--table_->answering_ == 0) table_->answered_.notify_all();
    }

   private:
    RequestTable* const table_;
  };

  void GiveUp(Waiter waiter, Kind error, bool was_interrupted);
  void NoteInterrupted(const Waiter& waiter);
  bool IsEnding(const Waiter& waiter, int64_t now_ms) const;
  void EraseDeadline(uint64_t id, int64_t deadline_ms);
  // Time for which the agent should have said that it gets on and has not.
  int64_t SilentMs(int64_t now_ms) const;
  int64_t LateMs(int64_t now_ms) const;
  // Puts the deadline off by what the agent has been late since it was set; false: it stands.
  bool PutOff(Held* held, int64_t now_ms);

  Front* const front_;
  const CoreSettings& settings_;
  std::atomic<uint64_t> next_id_{1};
  std::atomic<uint32_t> deadline_min_ms_{0};
  std::mutex mutex_;
  std::condition_variable answered_;
  int answering_ = 0;
  bool is_ended_ = false;
  Kind end_error_ = Kind::kNone;
  int64_t heartbeat_at_ms_ = 0;  // 0: never
  int64_t reported_late_ms_ = 0;
  int64_t late_ms_ = 0;  // in all: by what it reported, or by its silence where that was longer
  std::unordered_map<uint64_t, Held> waiters_;
  std::multimap<int64_t, uint64_t> deadlines_;
  std::unordered_map<int32_t, int64_t>
      interrupted_;  // when, by the caller's thread; those of long ago leave with the next
  std::unordered_map<uint64_t, AskState> asks_;
  std::unordered_set<uint64_t> changes_;  // ids of changes that the agent is asked for
  std::deque<std::variant<uint64_t, Notice>> outgoing_;
  size_t early_last_ = 0;     // how many of them, at the end, were answered early
  int64_t early_due_ms_ = 0;  // when the agent is to hear of what was answered early; 0: it has been woken, or of none
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_REQUEST_TABLE_H_
