// Changes that programs were answered here, from the agent's tables, and that the agent has not taken in yet. What such
// a change is of stays as it was answered until then: what the agent says of it is older.
//
// DriveCore guards it: it is not thread-safe, but for IsAllowed.
#ifndef RUNNEL_DRIVE_EARLY_EARLY_ANSWERS_H_
#define RUNNEL_DRIVE_EARLY_EARLY_ANSWERS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/drive/drive.h"
#include "src/drive/early/early_log.h"

namespace runnel::drive {

class EarlyAnswers {
 public:
  // Nothing is answered so without a log.
  bool OpenLog(const std::string& path, const std::string& boot, uint64_t next) { return log_.Open(path, boot, next); }
  void Allow(bool is_allowed) { is_allowed_.store(is_allowed, std::memory_order_release); }
  bool IsAllowed() const { return is_allowed_.load(std::memory_order_acquire); }
  // Numbers for nodes that are made here, in place of those that are left.
  void GiveNodes(uint64_t first, uint64_t count) {
    next_node_ = first;
    end_node_ = first + count;
  }
  // The next one, which is still to be had after this; 0: there is none.
  uint64_t NextNode() const { return next_node_ < end_node_ ? next_node_ : 0; }
  void TakeNode() { ++next_node_; }
  // The agent keeps up with what it is to take in.
  bool IsInTime(int64_t now_ms) const;
  // Logs a change and gives it its number; its nodes and the names that it has are held from here on. False: it cannot
  // be answered here.
  bool Add(Message* message, std::vector<uint64_t> nodes, int64_t now_ms);

  // Counts contents of a node that lie one over another before the server has any of them. False: too many do.
  bool MayStack(uint64_t node, bool is_over_unsent);

  bool HoldsNode(uint64_t node) const { return nodes_.contains(node); }
  // A program has set it.
  bool HoldsMtime(uint64_t node) const {
    const auto held = nodes_.find(node);
    return held != nodes_.end() && held->second.mtimes > 0;
  }
  bool HoldsName(uint64_t folder, const std::string& name) const;
  bool HoldsNamesOf(uint64_t folder) const { return names_.contains(folder); }
  const std::unordered_map<std::string, uint32_t>& NamesOf(uint64_t folder) const { return names_.at(folder); }
  // The agent says that nothing is known of a folder, names of which are held.
  void DropLater(uint64_t folder) { dropped_.insert(folder); }
  // Returns those of them of which nothing is held any more.
  std::vector<uint64_t> TakeDropped();
  // The agent has said something of what is held, and was not heeded.
  void NoteUnheeded() { said_ = log_.last(); }

  // The agent has taken in the first of those that are held, and knows what they are of. True: it has said something of
  // it meanwhile that is to be said again.
  bool TakeIn(uint64_t id);
  // It is in the agent's journal: the log need not have it.
  void Recorded(uint64_t id);

 private:
  // Beyond these the agent is asked, behind what it has to take in.
  static constexpr size_t kUnderWayMax = 16384;
  static constexpr uint64_t kBytesMax = 64 << 20;
  static constexpr int64_t kLateMs = 2000;
  static constexpr uint32_t kStackedMax = 6;
  static constexpr size_t kStackedNodesMax = 16384;

  struct Change {
    uint64_t id = 0;
    uint64_t number = 0;
    int64_t at_ms = 0;
    size_t place = 0;    // in the log
    uint64_t bytes = 0;  // of a content
    bool sets_mtime = false;
    bool is_taken_in = false;
    bool is_recorded = false;
    std::vector<uint64_t> nodes;
    std::vector<std::pair<uint64_t, std::string>> names;
  };

  Change* Find(uint64_t id);

  std::atomic<bool> is_allowed_{false};
  EarlyLog log_;
  uint64_t said_ = 0;
  uint64_t bytes_ = 0;  // of contents that are under way
  uint64_t next_node_ = 0;
  uint64_t end_node_ = 0;
  std::deque<Change> under_way_;
  // Changes of a node, and how many of them set its mtime.
  struct Held {
    uint32_t changes = 0;
    uint32_t mtimes = 0;
  };
  std::unordered_map<uint64_t, Held> nodes_;
  std::unordered_map<uint64_t, std::unordered_map<std::string, uint32_t>> names_;
  std::unordered_set<uint64_t> dropped_;
  std::unordered_map<uint64_t, uint32_t> stacked_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_EARLY_EARLY_ANSWERS_H_
