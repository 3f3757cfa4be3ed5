// A whole tree under inotify(7): one watch per folder. Its one thread owns everything but the listener.
//
// An event about a folder's name only makes the watcher look at what is there now: the watch of what it finds is added,
// which the kernel answers with the number it already has for that folder, so renames, exchanges and reused inode
// numbers come out right whatever has happened since. Before that it makes sure that the parent is still where the
// record has it; if not, the rename that moved it is still in the queue, and a folder that arrives anywhere is told
// with all that is in it.
#ifndef RUNNEL_FILE_LINUX_INOTIFY_WATCHER_H_
#define RUNNEL_FILE_LINUX_INOTIFY_WATCHER_H_

#include <sys/inotify.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/file/descriptor.h"
#include "src/file/watch_batch.h"
#include "src/file/watch_tree.h"
#include "src/file/watcher.h"

namespace runnel {

class InotifyWatcher : public Watcher {
 public:
  InotifyWatcher(Descriptor root, Descriptor inotify, Descriptor stop, int root_watch,
                 std::vector<std::string> excluded, std::shared_ptr<WatchListener> listener);
  ~InotifyWatcher() override;

  // Adds the watches of the whole tree, then starts the thread.
  void Start();

  static int AddWatch(int inotify, int folder);

 private:
  using Clock = std::chrono::steady_clock;

  // A folder that left its place, until it arrives somewhere or is given up.
  struct Leaving {
    int watch;
    Clock::time_point give_up;
  };

  // The thread.
  void Run();
  int PollTimeoutMs() const;
  void ReadEvents();
  void HandleEvent(const struct inotify_event& event);
  void HandleName(WatchedFolder* folder, const struct inotify_event& event, const std::string& name);
  void ReportIfDue();
  void RemindIfBlind();

  // Looking at the disk.
  void LookAt(WatchedFolder* parent, const std::string& name);
  bool OpenWatched(const WatchedFolder& folder, Descriptor* opened, std::string* path);
  WatchedFolder* Attach(WatchedFolder* parent, int parent_fd, const std::string& name, bool* is_arrival);
  void Vacate(WatchedFolder* parent, const std::string& name);
  void Scan(WatchedFolder* start, bool reports);
  void ScanOne(WatchedFolder* folder, bool reports, std::vector<WatchedFolder*>* more);
  void ScanAll();
  void NoteUnwatched(int error);
  void GiveUpLeaving();
  void Forget(WatchedFolder* folder);
  bool IsExcluded(const WatchedFolder& folder, const std::string& name);

  const Descriptor root_;
  const Descriptor inotify_;
  const Descriptor stop_;
  const std::set<std::string> excluded_;
  const std::shared_ptr<WatchListener> listener_;

  WatchTree tree_;
  WatchBatch batch_;
  Clock::time_point report_at_{};
  std::vector<Leaving> leaving_;
  uint64_t scan_ = 0;
  bool has_lost_events_ = false;
  // Some folder could not be watched, or not be listed: too many watches or descriptors, a failing disk.
  bool is_blind_ = false;
  Clock::time_point remind_at_{};

  std::thread thread_;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_LINUX_INOTIFY_WATCHER_H_
