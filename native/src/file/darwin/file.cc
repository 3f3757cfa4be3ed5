#include "src/file/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "calls.h"
#include "src/file/copy_range.h"

namespace runnel {

int CopyRange(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count) {
  *count = 0;
  if (length == 0) return 0;
  const int overlap = CheckOverlap(from, from_offset, to, to_offset, length);
  return overlap != 0 ? overlap : CopyThroughMemory(from, from_offset, to, to_offset, length, count);
}

// fsync(2) only hands the bytes to the drive; F_FULLFSYNC also asks it to keep them.
int Sync(int fd, bool) {
  if (Retry([&] { return fcntl(fd, F_FULLFSYNC); }) >= 0) return 0;
  return Try([&] { return fsync(fd); });
}

int StatFile(int fd, Stat* stat) {
  struct stat from;
  if (fstat(fd, &from) != 0) return errno;
  *stat = StatFrom(from);
  return 0;
}

int ChangeStat(int fd, const StatChange& change) {
  if (change.has_uid || change.has_gid) {
    const uid_t uid = change.has_uid ? change.uid : static_cast<uid_t>(-1);
    const gid_t gid = change.has_gid ? change.gid : static_cast<gid_t>(-1);
    const int error = Try([&] { return fchown(fd, uid, gid); });
    if (error != 0) return error;
  }
  if (change.has_mode) {
    const int error = GivePermissions(fd, change.mode);
    if (error != 0) return error;
  }
  const Times times(change.mtime_ns);
  return change.has_mtime ? Try([&] { return futimens(fd, times.both); }) : 0;
}

int HandleOf(int fd, std::vector<uint8_t>* handle) {
  struct stat from;
  if (fstat(fd, &from) != 0) return errno;
  *handle = HandleFrom(from);
  return 0;
}

void WillRead(int fd, uint64_t offset, uint64_t length) {
  struct radvisory range = {static_cast<off_t>(offset), static_cast<int>(std::min<uint64_t>(length, INT_MAX))};
  (void)fcntl(fd, F_RDADVISE, &range);
}

}  // namespace runnel
