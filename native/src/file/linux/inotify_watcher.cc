// The thread and the events; looking at the disk is in inotify_scan.cc.
#include "inotify_watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "calls.h"
#include "src/file/name_text.h"

namespace runnel {

namespace {

using std::chrono::milliseconds;

constexpr uint32_t kChangedMask =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF;
constexpr uint32_t kWatchMask = kChangedMask | IN_MODIFY | IN_ONLYDIR | IN_EXCL_UNLINK;

// The time for which events are gathered before they are reported, and how many are gathered at most.
constexpr milliseconds kGatherTime(50);
constexpr size_t kGatherPaths = 4096;
// The time after which a batch is offered again to a listener that was busy.
constexpr milliseconds kOfferAgainTime(10);
// While parts are not watched only scans find what happens there: they are tried again, and "overflow" told, so often.
constexpr milliseconds kRemindTime(30'000);
constexpr size_t kReadBytes = 64 * 1024;

}  // namespace

InotifyWatcher::InotifyWatcher(Descriptor root, Descriptor inotify, Descriptor stop, int root_watch,
                               std::vector<std::string> excluded, std::shared_ptr<WatchListener> listener)
    : root_(std::move(root)),
      inotify_(std::move(inotify)),
      stop_(std::move(stop)),
      excluded_(excluded.begin(), excluded.end()),
      listener_(std::move(listener)),
      tree_(root_watch) {}

InotifyWatcher::~InotifyWatcher() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void InotifyWatcher::Start() {
  Scan(tree_.root(), false);
  thread_ = std::thread([this] { Run(); });
}

int InotifyWatcher::AddWatch(int inotify, int folder) {
  // The magic link of the open folder makes the watch follow what was opened, wherever its name leads by now.
  const std::string link = "/proc/self/fd/" + std::to_string(folder);
  return Retry([&] { return inotify_add_watch(inotify, link.c_str(), kWatchMask); });
}

void InotifyWatcher::Run() {
  while (true) {
    struct pollfd polled[] = {{stop_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}};
    poll(polled, 2, PollTimeoutMs());
    if (polled[0].revents != 0) return;
    const bool was_empty = batch_.size() == 0;
    if (polled[1].revents != 0) ReadEvents();
    GiveUpLeaving();
    if (has_lost_events_) ScanAll();
    RemindIfBlind();
    if (was_empty) report_at_ = Clock::now() + kGatherTime;
    ReportIfDue();
  }
}

int InotifyWatcher::PollTimeoutMs() const {
  Clock::time_point next = Clock::time_point::max();
  if (batch_.size() != 0) next = std::min(next, report_at_);
  if (is_blind_) next = std::min(next, remind_at_);
  for (const Leaving& leaving : leaving_) next = std::min(next, leaving.give_up);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

void InotifyWatcher::ReadEvents() {
  alignas(struct inotify_event) char buffer[kReadBytes];
  const ssize_t length = Retry([&] { return read(inotify_.get(), buffer, sizeof(buffer)); });
  for (ssize_t at = 0; at < length;) {
    const auto* event = reinterpret_cast<const struct inotify_event*>(buffer + at);
    HandleEvent(*event);
    at += static_cast<ssize_t>(sizeof(*event) + event->len);
  }
}

void InotifyWatcher::HandleEvent(const struct inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    has_lost_events_ = true;
    return;
  }
  WatchedFolder* folder = tree_.Find(event.wd);
  if (folder == nullptr) return;
  const bool is_root = folder == tree_.root();
  if (event.len != 0) {
    HandleName(folder, event, event.name);
  } else if (is_root) {
    // Changes of any other folder itself are reported by its parent's watch.
    batch_.Add("", WatchKind::kChanged);
  } else if ((event.mask & IN_IGNORED) != 0) {
    for (const auto& [name, child] : folder->children) leaving_.push_back({child->watch, Clock::now()});
    tree_.Erase(folder);
  }
}

void InotifyWatcher::HandleName(WatchedFolder* folder, const struct inotify_event& event, const std::string& name) {
  if (IsExcluded(*folder, name)) return;
  std::string path;
  if (!tree_.PathOf(*folder, &path)) return;
  const WatchKind kind = (event.mask & kChangedMask) != 0 ? WatchKind::kChanged : WatchKind::kWriting;
  if (IsTextTooLong(name)) {
    batch_.Add(path, WatchKind::kChanged);
    return;
  }
  batch_.Add(path.empty() ? name : path + "/" + name, kind);
  if ((event.mask & IN_ISDIR) != 0) LookAt(folder, name);
}

void InotifyWatcher::ReportIfDue() {
  if (batch_.size() == 0) return;
  const bool is_due = Clock::now() >= report_at_ || batch_.size() >= kGatherPaths;
  if (!is_due) return;
  if (listener_->IsReady()) {
    listener_->Report(batch_.Take());
  } else {
    report_at_ = Clock::now() + kOfferAgainTime;
  }
}

void InotifyWatcher::RemindIfBlind() {
  if (!is_blind_ || Clock::now() < remind_at_) return;
  remind_at_ = Clock::now() + kRemindTime;
  ScanAll();
}

int StartWatcher(int root, std::vector<std::string> excluded, std::shared_ptr<WatchListener> listener,
                 std::unique_ptr<Watcher>* watcher) {
  Descriptor own_root(fcntl(root, F_DUPFD_CLOEXEC, 0));
  Descriptor inotify(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!own_root.is_open() || !inotify.is_open() || !stop.is_open()) return errno;
  const int root_watch = InotifyWatcher::AddWatch(inotify.get(), own_root.get());
  if (root_watch < 0) return errno;
  auto started = std::make_unique<InotifyWatcher>(std::move(own_root), std::move(inotify), std::move(stop), root_watch,
                                                  std::move(excluded), std::move(listener));
  started->Start();
  *watcher = std::move(started);
  return 0;
}

}  // namespace runnel
