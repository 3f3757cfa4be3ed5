#include "src/file/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "calls.h"
#include "src/file/copy_range.h"

namespace runnel {

namespace {

// The share of a single call, so that a copy of a huge file is not one uninterruptible call.
constexpr uint64_t kCopyCallBytes = 64 * 1024 * 1024;

// copy_file_range(2) says these when this pair of files cannot be copied inside the kernel.
bool MustCopyThroughMemory(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

// Makes a range a hole. False when the file system cannot.
bool CopyHole(int fd, uint64_t offset, uint64_t length) {
  struct stat now;
  if (fstat(fd, &now) != 0) return false;
  const uint64_t size = static_cast<uint64_t>(now.st_size);
  const uint64_t end = offset + length;
  if (offset < size) {
    const off_t within = static_cast<off_t>(std::min(end, size) - offset);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (Retry([&] { return fallocate(fd, mode, static_cast<off_t>(offset), within); }) != 0) return false;
  }
  return end <= size || Retry([&] { return ftruncate(fd, static_cast<off_t>(end)); }) == 0;
}

}  // namespace

int CopyRange(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count) {
  *count = 0;
  if (length == 0) return 0;
  const int overlap = CheckOverlap(from, from_offset, to, to_offset, length);
  if (overlap != 0) return overlap;
  while (*count < length) {
    const uint64_t at = from_offset + *count;
    const Extent extent = ExtentAt(from, at, length - *count);
    if (extent.is_hole && CopyHole(to, to_offset + *count, extent.length)) {
      *count += extent.length;
      continue;
    }
    off_t in = static_cast<off_t>(at);
    off_t out = static_cast<off_t>(to_offset + *count);
    const size_t wanted = static_cast<size_t>(std::min(extent.length, kCopyCallBytes));
    const ssize_t copied = Retry([&] { return copy_file_range(from, &in, to, &out, wanted, 0); });
    if (copied < 0 && MustCopyThroughMemory(errno)) {
      uint64_t through = 0;
      const int error = CopyThroughMemory(from, at, to, to_offset + *count, wanted, &through);
      *count += through;
      if (error != 0 || through == 0) return error;
      continue;
    }
    if (copied < 0) return errno;
    if (copied == 0) return 0;
    *count += static_cast<uint64_t>(copied);
  }
  return 0;
}

int Sync(int fd, bool data_only) {
  return Try([&] { return data_only ? fdatasync(fd) : fsync(fd); });
}

int StatFile(int fd, Stat* stat) { return StatAt(fd, "", stat); }

int ChangeStat(int fd, const StatChange& change) {
  Stat now;
  const int error = StatFile(fd, &now);
  return error != 0 ? error : ChangeStatOfReference(fd, now, change);
}

int HandleOf(int fd, std::vector<uint8_t>* handle) {
  union {
    struct file_handle head;
    uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } space;
  space.head.handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  const int error = Try([&] { return name_to_handle_at(fd, "", &space.head, &mount_id, AT_EMPTY_PATH); });
  if (error != 0) return error;
  const uint32_t type = static_cast<uint32_t>(space.head.handle_type);
  handle->clear();
  for (int shift = 0; shift < 32; shift += 8) handle->push_back(static_cast<uint8_t>(type >> shift));
  const uint8_t* bytes = space.room + offsetof(struct file_handle, f_handle);
  handle->insert(handle->end(), bytes, bytes + space.head.handle_bytes);
  return 0;
}

void WillRead(int fd, uint64_t offset, uint64_t length) {
  posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
}

}  // namespace runnel
