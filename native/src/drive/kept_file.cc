#include "kept_file.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "error_numbers.h"
#include "overlay_file.h"
#include "src/file/descriptor.h"

namespace runnel::drive {
namespace {

// A part of what the process may have open: the rest is for the agent's own files, its database, its sockets.
constexpr size_t kShare = 10;
constexpr size_t kLeast = 8;
// What else has taken all of them gives some back soon.
constexpr int kTries = 100;
constexpr auto kTryEvery = std::chrono::milliseconds(10);

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) CloseOverlay(fd_);
}

struct KeptFile::Pool {
  std::mutex mutex;
  std::list<KeptFile*> recent;  // the last used first
  const size_t max = std::max(kLeast, DescriptorLimit() / kShare);

  // Under the mutex: what is to be closed outside of it.
  void TakeBeyond(size_t most, std::vector<SharedFd>* closed) {
    for (; recent.size() > most; recent.pop_back()) {
      KeptFile* last = recent.back();
      closed->push_back(std::move(last->fd_));
      last->fd_ = nullptr;
      last->place_.reset();
    }
  }
};

KeptFile::Pool& KeptFile::ThePool() {
  // Never destroyed: the kernel's requests are answered while a process ends.
  static Pool& pool = *new Pool;
  return pool;
}

KeptFile::KeptFile(std::string path, bool can_write, UniqueFd fd) : path_(std::move(path)), can_write_(can_write), is_pinned_(path_.empty()) {
  if (fd.Get() < 0) return;
  auto shared = std::make_shared<const UniqueFd>(std::move(fd));
  std::vector<SharedFd> closed;
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  fd_ = std::move(shared);
  if (is_pinned_) return;
  place_ = pool.recent.insert(pool.recent.begin(), this);
  pool.TakeBeyond(pool.max, &closed);
}

KeptFile::~KeptFile() {
  SharedFd closed;
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  if (place_.has_value()) pool.recent.erase(*place_);
  closed = std::move(fd_);
}

int KeptFile::Use(SharedFd* fd) {
  Pool& pool = ThePool();
  {
    std::lock_guard lock(pool.mutex);
    if (fd_ != nullptr) {
      if (place_.has_value()) pool.recent.splice(pool.recent.begin(), pool.recent, *place_);
      *fd = fd_;
      return 0;
    }
  }
  UniqueFd opened;
  const auto open = [this](int* to) { return can_write_ ? OpenOverlayFile(path_, to) : OpenContentFile(path_, to); };
  if (const int error = OpenWithRoom(open, &opened); error != 0) return error;
  auto shared = std::make_shared<const UniqueFd>(std::move(opened));
  std::vector<SharedFd> closed;
  std::lock_guard lock(pool.mutex);
  // Another thread may have been first.
  if (fd_ == nullptr) {
    fd_ = std::move(shared);
    if (!is_pinned_) place_ = pool.recent.insert(pool.recent.begin(), this);
    pool.TakeBeyond(pool.max, &closed);
  }
  *fd = fd_;
  return 0;
}

int KeptFile::Pin() {
  SharedFd fd;
  if (const int error = Use(&fd); error != 0) return error;
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  is_pinned_ = true;
  fd_ = std::move(fd);
  if (place_.has_value()) pool.recent.erase(*place_);
  place_.reset();
  return 0;
}

uint64_t KeptFile::AllocatedBytes() {
  SharedFd fd;
  return Use(&fd) == 0 ? AllocatedBytesOf(fd->Get()) : 0;
}

int KeptFile::OpenWithRoom(const std::function<int(int*)>& open, UniqueFd* fd) {
  for (int tries = 1;; ++tries) {
    int opened = -1;
    const int error = open(&opened);
    if (error == 0) *fd = UniqueFd(opened);
    if ((error != EMFILE && error != ENFILE) || tries == kTries) return error;
    std::vector<SharedFd> closed;
    Pool& pool = ThePool();
    {
      std::lock_guard lock(pool.mutex);
      pool.TakeBeyond(pool.recent.size() / 2, &closed);
    }
    if (closed.empty()) std::this_thread::sleep_for(kTryEvery);
  }
}

size_t KeptFile::OpenCount() {
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  return pool.recent.size();
}

}  // namespace runnel::drive
