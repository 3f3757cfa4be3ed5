// Turns that threads take, one after another, at something that may last, as writing to a disk does. Whoever must not
// wait leaves what he has to do to the one whose turn it is.
//
// Thread-safe. The mutex is a leaf, and held for no call.
#ifndef RUNNEL_DRIVE_THREADS_TURNS_H_
#define RUNNEL_DRIVE_THREADS_TURNS_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace runnel::drive {

class Turns {
 public:
  // A turn, which is waited for, until the end of the scope.
  class Turn {
   public:
    explicit Turn(Turns* turns) : turns_(turns) { turns_->Begin(); }
    ~Turn() { turns_->End(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns* const turns_;
  };

  // Never waits: does `act`, which is short, as a turn of its own, or has it done at the end of the one that another
  // thread has. After that turn, and on its thread, `after` is called.
  void Do(std::function<void()> act, std::function<void()> after);

 private:
  struct Left {
    std::function<void()> act;
    std::function<void()> after;
  };

  void Begin();
  void End();

  std::mutex mutex_;
  std::condition_variable is_free_;
  bool is_taken_ = false;
  std::vector<Left> left_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_THREADS_TURNS_H_
