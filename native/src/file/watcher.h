// Watches a whole tree for changes by any program. An event says "look at this path", never what is there now.
#ifndef RUNNEL_FILE_WATCHER_H_
#define RUNNEL_FILE_WATCHER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace runnel {

enum class WatchKind : int {
  kChanged = 0,   // made, removed, renamed, attributes changed, or closed after writing
  kWriting = 1,   // a program is writing; more will come
  kOverflow = 2,  // events were lost, or part of the tree cannot be watched: only a whole scan helps
};

struct WatchEvent {
  std::string path;
  WatchKind kind;
};

// Takes a batch (and empties it) or refuses it with false because the one before is still being handled: the batch is then
// kept, grows, and is offered again. Called on the watcher's thread.
using WatchListener = std::function<bool(std::vector<WatchEvent>* events)>;

class Watcher {
 public:
  // Stops and waits for the thread; no call of the listener comes after it.
  virtual ~Watcher() = default;
};

// Starts watching everything beneath `root` on its file system, but not `leave_out`, names in the root itself. What happens
// after this returns 0 is told. `root` is borrowed for the call. Blocks for about 10 µs per folder.
int StartWatcher(int root, std::vector<std::string> leave_out, WatchListener listener, std::unique_ptr<Watcher>* watcher);

}  // namespace runnel

#endif  // RUNNEL_FILE_WATCHER_H_
