// Cuts of files by path, which the agent makes while nobody has the file open here, against opens of the same file: one
// that was begun over the version before a cut would be saved over that, and undo what the program was told.
#ifndef RUNNEL_DRIVE_TABLES_CUTS_H_
#define RUNNEL_DRIVE_TABLES_CUTS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace runnel::drive {

// Keyed by node. DriveCore guards it: it is not thread-safe.
class Cuts {
 public:
  // Notes an open that the agent is asked for. Returns what EndOpen is to be given.
  uint64_t BeginOpen(uint64_t node);
  // Returns true when a cut has begun meanwhile: the answer may be of the version before.
  bool EndOpen(uint64_t node, uint64_t begun);

  // Notes a cut; there is one at a time.
  void Begin(uint64_t node);
  // Returns the waiters for that.
  std::vector<uint64_t> End(uint64_t node);
  bool IsUnderWay(uint64_t node) const;
  // Has a waiter wait for the end of the cut. False: none is under way.
  bool Join(uint64_t node, uint64_t waiter);
  void Leave(uint64_t node, uint64_t waiter);

 private:
  struct State {
    bool is_under_way = false;
    uint64_t begun = 0;  // counts cuts
    uint32_t opens = 0;
    std::vector<uint64_t> waiters;
  };

  void Settle(uint64_t node);

  std::unordered_map<uint64_t, State> states_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_CUTS_H_
