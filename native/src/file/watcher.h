// Watches a whole tree for changes by any program. An event says "look at this path", never what is there now.
#ifndef RUNNEL_FILE_WATCHER_H_
#define RUNNEL_FILE_WATCHER_H_

#include <memory>
#include <string>
#include <vector>

namespace runnel {

enum class WatchKind : int {
  kChanged = 0,   // made, removed, renamed, attributes changed, or closed after writing
  kWriting = 1,   // a program is writing; more will come
  kWritten = 3,   // both: it was written to, and closed or changed otherwise
  kOverflow = 2,  // events were lost, or part of the tree cannot be watched: only a whole scan helps
};

struct WatchEvent {
  std::string path;
  WatchKind kind;
};

// Both methods are called on the watcher's thread.
class WatchListener {
 public:
  virtual ~WatchListener() = default;
  // False while the batch before is still being handled: the next one is then kept, grows, and is offered again.
  virtual bool IsReady() = 0;
  // Each path once, a folder before what is in it.
  virtual void Report(std::vector<WatchEvent> events) = 0;
};

class Watcher {
 public:
  // Stops and waits for the thread; no call of the listener comes after it.
  virtual ~Watcher() = default;
};

// Starts watching everything beneath `root` on its file system, but not `excluded`, names in the root itself. What
// happens after this returns 0 is told. `root` is borrowed for the call. Blocks for about 10 µs per folder.
int StartWatcher(int root, std::vector<std::string> excluded, std::shared_ptr<WatchListener> listener,
                 std::unique_ptr<Watcher>* watcher);

}  // namespace runnel

#endif  // RUNNEL_FILE_WATCHER_H_
