// Tasks that a front is to run soon (Front::Post), in order, on a thread of its own.
#ifndef RUNNEL_DRIVE_THREADS_TASK_QUEUE_H_
#define RUNNEL_DRIVE_THREADS_TASK_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace runnel::drive {

class TaskQueue {
 public:
  // The body of the thread, until Stop and everything posted before it has run.
  void Run();
  void Stop();

  // Any thread; never waits, but after Stop runs the task itself: only commits of released files are left then, which
  // need no thread.
  void Post(std::function<void()> task);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_stopped_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_THREADS_TASK_QUEUE_H_
