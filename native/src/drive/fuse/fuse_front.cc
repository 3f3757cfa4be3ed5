#include "fuse_front.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "fuse_ops.h"
#include "kernel_side.h"
#include "src/file/name_text.h"

namespace runnel::drive {
namespace {

constexpr auto kKickEvery = std::chrono::milliseconds(20);

int64_t NowMs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1000000;
}

// FSKit cannot be told to forget anything, so it may keep nothing.
CoreSettings TimeoutsFor(const KernelFront::Settings& settings, CoreSettings core_settings) {
  if (settings.uses_fskit) core_settings.kernel_timeout_ms = 0;
  return core_settings;
}

// Starts a thread that takes none of the process's signals.
template <typename Run>
std::thread StartThread(Run run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, KickSignal());
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

FuseFront::FuseFront(Settings settings, CoreSettings core_settings, std::function<void()> wake_agent)
    : settings_(std::move(settings)),
      wake_agent_(std::move(wake_agent)),
      core_(this, TimeoutsFor(settings_, std::move(core_settings))) {}

FuseFront::~FuseFront() {
  if (closer_.joinable()) closer_.join();
}

std::string FuseFront::CheckMountpoint() const {
  const std::string& path = settings_.mountpoint;
  struct stat stat = {};
  if (::stat(path.c_str(), &stat) != 0) {
    if (errno == ENOENT) return "The folder to mount at does not exist: create it, or choose another.";
    if (std::string why = WhyDead(errno); !why.empty()) return why;
    return std::string("The folder to mount at cannot be used: ") + strerror(errno) + ".";
  }
  if (!S_ISDIR(stat.st_mode)) return "The place to mount at is not a folder: choose an empty folder.";
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return std::string("The folder to mount at cannot be read: ") + strerror(errno) + ".";
  bool is_empty = true;
  while (const dirent* entry = readdir(folder)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) is_empty = false;
  }
  closedir(folder);
  if (!is_empty) return "The folder to mount at is not empty: choose an empty folder.";
  return WhyNoFuse(settings_);
}

std::string FuseFront::Start() {
  if (settings_.replaces_dead) {
    if (std::string problem = WhyNoFuse(settings_); !problem.empty()) return problem;
    std::string mounted;
    if (MountOver(settings_, settings_.mountpoint, &mounted)) return Serve(settings_.mountpoint, mounted);
    UnmountAt(settings_.mountpoint, true);
  }
  if (std::string problem = CheckMountpoint(); !problem.empty()) return problem;
  char* const real = realpath(settings_.mountpoint.c_str(), nullptr);
  const std::string mountpoint = real != nullptr ? real : settings_.mountpoint;
  free(real);
  return Serve(mountpoint, mountpoint);
}

// `mounted`: the mount point, or the mount itself when it is there already.
std::string FuseFront::Serve(const std::string& mountpoint, const std::string& mounted) {
  mountpoint_ = mountpoint;
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&args, "runnel");
  char* options = nullptr;
  for (const std::string& option : OptionsFor(settings_)) fuse_opt_add_opt_escaped(&options, option.c_str());
  fuse_opt_add_arg(&args, "-o");
  fuse_opt_add_arg(&args, options);
  free(options);
  const fuse_lowlevel_ops ops = FuseOps();
  session_ = fuse_session_new(&args, &ops, sizeof(ops), this);
  fuse_opt_free_args(&args);
  const auto leave = [&](const std::string& why) {
    if (mounted != mountpoint) UnmountAt(mountpoint, true);
    return why;
  };
  if (session_ == nullptr) return leave("FUSE refused the mount's options.");
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(KickSignal(), &action, nullptr);
  if (fuse_session_mount(session_, mounted.c_str()) != 0) {
    fuse_session_destroy(session_);
    session_ = nullptr;
    return leave(WhyNotMounted());
  }
  SetSessionIo(session_);
  device_ = DeviceAt(mountpoint_);
  const int servers = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2u, 8u));
  serving_ = servers;
  worker_ = StartThread([this] { tasks_.Run(); });
  timer_ = StartThread([this] { alarm_.Run(); });
  closers_thread_ = StartThread([this] { closers_.Run(); });
  signalled_thread_ = StartThread([this] { signalled_.Run(); });
  invalidator_ = StartThread([this] { Invalidate(); });
  for (int i = 0; i < servers; ++i) servers_.push_back(StartThread([this] { AnswerRequests(); }));
  return "";
}

void FuseFront::AnswerRequests() {
  fuse_buf buffer = {};
  while (!fuse_session_exited(session_)) {
    const int size = fuse_session_receive_buf(session_, &buffer);
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    fuse_session_process_buf(session_, &buffer);
  }
  free(buffer.mem);
  fuse_session_exit(session_);
  if (serving_.fetch_sub(1) != 1) return;
  core_.End();
  core_.AwaitAnswers();
  core_.ReleaseAll();
  core_.Notify(
      {Notice::kUnmounted, 0, 0, is_closing_ ? "The drive was closed." : "The drive was unmounted from outside."});
}

void FuseFront::OnInit() { core_.Notify({Notice::kReady, 0, 0, {}}); }

int64_t FuseFront::NowBootMs() { return NowMs(BootClock()); }

int64_t FuseFront::NowKernelMs() { return NowMs(KernelClock()); }

int64_t FuseFront::NowWallNs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

void FuseFront::InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) {
  std::lock_guard lock(invalidations_mutex_);
  // Past the bound the kernel's own timeout, at most a second, has to do.
  if (invalidations_.size() >= kInvalidationsMax) return;
  invalidations_.push_back({folder_id, std::move(name), id, mark, until_ms});
  invalidations_ready_.notify_one();
}

void FuseFront::InvalidateAttributes(uint64_t id, int64_t until_ms) { InvalidateName(0, {}, id, 0, until_ms); }

void FuseFront::Invalidate() {
  std::unique_lock lock(invalidations_mutex_);
  while (true) {
    invalidations_ready_.wait(lock, [this] { return invalidations_end_ || !invalidations_.empty(); });
    if (invalidations_end_) return;
    const Invalidation next = std::move(invalidations_.front());
    invalidations_.pop_front();
    lock.unlock();
    if (NowKernelMs() < next.until_ms) {
      if (next.folder_id == 0) {
        fuse_lowlevel_notify_inval_inode(session_, next.id, -1, 0);  // attributes only
      } else {
        const std::string name = NameOfText(next.name);
        fuse_lowlevel_notify_inval_entry(session_, next.folder_id, name.c_str(), name.size());
      }
    }
    if (next.mark != 0) core_.Invalidated(next.id, next.mark);
    lock.lock();
  }
}

bool FuseFront::IsMounted() const { return !device_.empty() && DeviceAt(mountpoint_) == device_; }

// Runs on the closer's thread: the kernel may write back pages and release files through our servers meanwhile.
KernelFront::Ending FuseFront::CloseNow(bool force) {
  is_closing_ = true;
  if (IsMounted()) {
    if (force) core_.End();
    Ending ending = UnmountAt(mountpoint_, force);
    if (!ending.is_done && !force && IsMounted()) {
      is_closing_ = false;
      return ending;
    }
  }
  StopThreads();
  return {true, ""};
}

void FuseFront::StopThreads() {
  {
    // First of all: it may wait for a folder that a request holds, which the servers have to answer.
    std::lock_guard lock(invalidations_mutex_);
    invalidations_end_ = true;
    invalidations_ready_.notify_all();
  }
  invalidator_.join();
  fuse_session_exit(session_);
  while (serving_ > 0) {
    // A signal between the check and the read would be lost: again until all have ended.
    for (std::thread& server : servers_) pthread_kill(server.native_handle(), KickSignal());
    std::this_thread::sleep_for(kKickEvery);
  }
  for (std::thread& server : servers_) server.join();
  servers_.clear();
  alarm_.Stop();
  timer_.join();
  closers_.Stop();
  signalled_.Stop();
  closers_thread_.join();
  signalled_thread_.join();
  tasks_.Stop();
  worker_.join();
  // Closes /dev/fuse: whatever still hangs on a detached mount gets ENOTCONN.
  fuse_session_destroy(session_);
  session_ = nullptr;
  core_.DropContents();
}

void FuseFront::Close(bool force, std::function<void(Ending)> done) {
  if (closer_.joinable()) closer_.join();  // it found programs, and said so
  closer_ = StartThread([this, force, done = std::move(done)] { done(CloseNow(force)); });
}

void FuseFront::EndNow() {
  core_.End();  // or the closer may wait for a program whose request nobody answers
  if (closer_.joinable()) closer_.join();
  if (session_ != nullptr) CloseNow(true);
}

std::unique_ptr<KernelFront> MakeKernelFront(KernelFront::Settings settings, CoreSettings core_settings,
                                             std::function<void()> wake_agent) {
  return std::make_unique<FuseFront>(std::move(settings), std::move(core_settings), std::move(wake_agent));
}

}  // namespace runnel::drive
