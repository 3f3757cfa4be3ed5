#include "pooled_file.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "overlay_file.h"
#include "src/file/descriptor.h"

namespace runnel::drive {
namespace {

// A part of what the process may have open: the rest is for the agent's own files, its database, its sockets.
constexpr size_t kShare = 10;
constexpr size_t kLeast = 8;
// Other users of descriptors give some back soon.
constexpr int kTries = 100;
constexpr auto kTryEvery = std::chrono::milliseconds(10);

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) CloseOverlay(fd_);
}

struct PooledFile::Pool {
  std::mutex mutex;
  std::list<PooledFile*> recent;  // the last used first
  const size_t max = std::max(kLeast, DescriptorLimit() / kShare);

  // Under the mutex: what is to be closed outside of it.
  void TakeBeyond(size_t most, std::vector<SharedFd>* closed) {
    for (; recent.size() > most; recent.pop_back()) {
      PooledFile* last = recent.back();
      closed->push_back(std::move(last->fd_));
      last->fd_ = nullptr;
      last->place_.reset();
    }
  }
};

PooledFile::Pool& PooledFile::ThePool() {
  // Never destroyed: the kernel's requests are answered while a process ends.
  static Pool& pool = *new Pool;
  return pool;
}

PooledFile::PooledFile(std::string path, bool can_write, UniqueFd fd)
    : path_(std::move(path)), can_write_(can_write), is_pinned_(path_.empty()) {
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

PooledFile::~PooledFile() {
  SharedFd closed;
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  if (place_.has_value()) pool.recent.erase(*place_);
  closed = std::move(fd_);
}

Kind PooledFile::Use(SharedFd* fd) {
  Pool& pool = ThePool();
  {
    std::lock_guard lock(pool.mutex);
    if (fd_ != nullptr) {
      if (place_.has_value()) pool.recent.splice(pool.recent.begin(), pool.recent, *place_);
      *fd = fd_;
      return Kind::kNone;
    }
  }
  UniqueFd opened;
  const auto open = [this](int* to) { return can_write_ ? OpenOverlayFile(path_, to) : OpenContentFile(path_, to); };
  if (const Kind error = OpenReclaiming(open, &opened); error != Kind::kNone) return error;
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
  return Kind::kNone;
}

Kind PooledFile::Pin() {
  SharedFd fd;
  if (const Kind error = Use(&fd); error != Kind::kNone) return error;
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  is_pinned_ = true;
  fd_ = std::move(fd);
  if (place_.has_value()) pool.recent.erase(*place_);
  place_.reset();
  return Kind::kNone;
}

uint64_t PooledFile::AllocatedBytes() {
  SharedFd fd;
  return Use(&fd) == Kind::kNone ? AllocatedBytesOf(fd->Get()) : 0;
}

Kind PooledFile::OpenReclaiming(const std::function<Kind(int*)>& open, UniqueFd* fd) {
  for (int tries = 1;; ++tries) {
    int opened = -1;
    const Kind error = open(&opened);
    if (error == Kind::kNone) *fd = UniqueFd(opened);
    if (error != Kind::kTooManyOpen || tries == kTries) return error;
    std::vector<SharedFd> closed;
    Pool& pool = ThePool();
    {
      std::lock_guard lock(pool.mutex);
      pool.TakeBeyond(pool.recent.size() / 2, &closed);
    }
    if (closed.empty()) std::this_thread::sleep_for(kTryEvery);
  }
}

size_t PooledFile::OpenCount() {
  Pool& pool = ThePool();
  std::lock_guard lock(pool.mutex);
  return pool.recent.size();
}

}  // namespace runnel::drive
