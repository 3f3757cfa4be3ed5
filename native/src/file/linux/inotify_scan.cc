// Scans the disk for the inotify watcher and keeps its record of folders true.
#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "inotify_watcher.h"
#include "src/file/name_text.h"
#include "src/file/posix/attributes.h"
#include "src/file/posix/beneath.h"
#include "src/file/posix/folder_names.h"

namespace runnel {

namespace {

constexpr uint64_t kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
// The two events of a rename are queued one right after the other; a folder that has not arrived by then left the tree.
constexpr std::chrono::milliseconds kLeavingTime(100);

// Errors that say "no folder of ours is there". Any other leaves something unwatched that is there.
bool IsNoFolder(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV || error == EACCES;
}

}  // namespace

bool InotifyWatcher::IsExcluded(const WatchedFolder& folder, const std::string& name) {
  return &folder == tree_.root() && excluded_.contains(name);
}

// Opens a recorded folder at its recorded place; false when something else, or nothing, is there now, or when it cannot
// be told.
bool InotifyWatcher::OpenWatched(const WatchedFolder& folder, Descriptor* opened, std::string* path) {
  if (!tree_.PathOf(folder, path)) return false;
  const int error = OpenBeneath(root_.get(), *path, kFolderFlags, 0, opened);
  const int watch = error == 0 ? AddWatch(inotify_.get(), opened->get()) : -1;
  if (watch == folder.watch) return true;
  if (watch < 0) NoteUnwatched(error == 0 ? errno : error);
  // Drops a watch that the record has not: the scan of whatever brought it there will find it again.
  if (watch >= 0 && tree_.Find(watch) == nullptr) inotify_rm_watch(inotify_.get(), watch);
  return false;
}

void InotifyWatcher::NoteUnwatched(int error) {
  if (error != 0 && !IsNoFolder(error)) is_blind_ = true;
}

void InotifyWatcher::LookAt(WatchedFolder* parent, const std::string& name) {
  Descriptor opened;
  std::string path;
  if (!OpenWatched(*parent, &opened, &path)) return;
  bool is_arrival = false;
  WatchedFolder* folder = Attach(parent, opened.get(), name, &is_arrival);
  if (folder != nullptr && is_arrival) Scan(folder, true);
}

// Makes the record of one name true. Returns the folder that is there, if it is one and is watched; `is_arrival` when
// it was not known to be there.
WatchedFolder* InotifyWatcher::Attach(WatchedFolder* parent, int parent_fd, const std::string& name, bool* is_arrival) {
  *is_arrival = false;
  Descriptor opened;
  const int error = OpenBeneath(parent_fd, name, kFolderFlags, 0, &opened);
  const int watch = error == 0 ? AddWatch(inotify_.get(), opened.get()) : -1;
  if (watch < 0) {
    NoteUnwatched(error == 0 ? errno : error);
    Vacate(parent, name);
    return nullptr;
  }
  WatchedFolder* folder = tree_.Find(watch);
  if (folder != nullptr && folder == tree_.Child(*parent, name)) return folder;
  Vacate(parent, name);
  *is_arrival = true;
  if (folder == nullptr) return tree_.Add(parent, name, watch);
  if (tree_.Move(folder, parent, name)) return folder;
  has_lost_events_ = true;
  return nullptr;
}

void InotifyWatcher::Vacate(WatchedFolder* parent, const std::string& name) {
  WatchedFolder* folder = tree_.Child(*parent, name);
  if (folder == nullptr) return;
  tree_.Detach(folder);
  leaving_.push_back({folder->watch, Clock::now() + kLeavingTime});
}

// Watches all folders from `start` on; `reports` tells every name found, since what happened before the watch was not
// heard.
void InotifyWatcher::Scan(WatchedFolder* start, bool reports) {
  ++scan_;
  std::vector<WatchedFolder*> waiting = {start};
  while (!waiting.empty()) {
    WatchedFolder* folder = waiting.back();
    waiting.pop_back();
    ScanOne(folder, reports, &waiting);
  }
}

void InotifyWatcher::ScanOne(WatchedFolder* folder, bool reports, std::vector<WatchedFolder*>* more) {
  Descriptor opened;
  std::string path;
  if (!OpenWatched(*folder, &opened, &path)) return;
  folder->scan = scan_;
  const std::string prefix = path.empty() ? path : path + "/";
  const auto take = [&](const char* text, int type) {
    const std::string name = text;
    if (IsExcluded(*folder, name) || IsTextTooLong(name)) return 0;
    if (reports) batch_.Add(prefix + name, WatchKind::kChanged);
    if (type != DT_DIR && type != DT_UNKNOWN) return 0;
    bool is_arrival = false;
    WatchedFolder* child = Attach(folder, opened.get(), name, &is_arrival);
    if (child != nullptr && child->scan != scan_) more->push_back(child);
    return 0;
  };
  bool is_end = false;
  int error = 0;
  while (!is_end && error == 0) error = ReadSomeNames(opened.get(), &is_end, take);
  NoteUnwatched(error);
}

// After lost events, or where something could not be watched: the record is made true from the disk, and only then it
// is told that a scan is needed.
void InotifyWatcher::ScanAll() {
  has_lost_events_ = false;
  is_blind_ = false;
  Scan(tree_.root(), false);
  for (WatchedFolder* folder : tree_.All()) {
    if (folder->scan != scan_ && folder != tree_.root()) Forget(folder);
  }
  batch_.Overflow();
}

void InotifyWatcher::GiveUpLeaving() {
  const Clock::time_point now = Clock::now();
  std::vector<Leaving> still;
  for (const Leaving& leaving : std::exchange(leaving_, {})) {
    WatchedFolder* folder = tree_.Find(leaving.watch);
    const bool has_left = folder != nullptr && folder->parent == nullptr && folder != tree_.root();
    if (!has_left) continue;
    if (now < leaving.give_up) {
      still.push_back(leaving);
      continue;
    }
    for (WatchedFolder* gone : tree_.Subtree(folder)) Forget(gone);
  }
  leaving_.insert(leaving_.end(), still.begin(), still.end());
}

void InotifyWatcher::Forget(WatchedFolder* folder) {
  inotify_rm_watch(inotify_.get(), folder->watch);
  tree_.Erase(folder);
}

}  // namespace runnel
