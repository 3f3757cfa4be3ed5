// Watching a folder that is served: not on Windows, where no server runs yet.
#include "src/file/watcher.h"

#include <cerrno>

namespace runnel {

int StartWatcher(int, std::vector<std::string>, std::shared_ptr<WatchListener>, std::unique_ptr<Watcher>*) {
  return EOPNOTSUPP;
}

}  // namespace runnel
