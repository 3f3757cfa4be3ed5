#include "calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

namespace runnel {

namespace {

// fchmodat2(2), Linux 6.6; the C library here does not have its number yet.
constexpr long kFchmodat2 = 452;

int64_t Nanoseconds(const struct statx_timestamp& time) { return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec; }

int ChangeMode(int fd, uint32_t mode) {
  const int error = Try([&] { return syscall(kFchmodat2, fd, "", mode, AT_EMPTY_PATH); });
  if (error != ENOSYS) return error;
  // Older kernels: by the magic link, which leads to this very file.
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return Try([&] { return chmod(link.c_str(), mode); });
}

}  // namespace

// statx(2); "" is the descriptor itself, one for reference too.
int StatAt(int folder, const char* name, Stat* stat) {
  struct statx from;
  const int of_itself = name[0] == '\0' ? AT_EMPTY_PATH : 0;
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT | of_itself;
  const int error = Try([&] { return statx(folder, name, flags, STATX_BASIC_STATS, &from); });
  if (error != 0) return error;
  stat->type = TypeOf(from.stx_mode);
  stat->mode = from.stx_mode & kPermissionBits;
  stat->uid = from.stx_uid;
  stat->gid = from.stx_gid;
  stat->size_bytes = from.stx_size;
  stat->mtime_ns = Nanoseconds(from.stx_mtime);
  stat->ctime_ns = Nanoseconds(from.stx_ctime);
  stat->dev = makedev(from.stx_dev_major, from.stx_dev_minor);
  stat->ino = from.stx_ino;
  stat->nlink = from.stx_nlink;
  stat->rdev = makedev(from.stx_rdev_major, from.stx_rdev_minor);
  return 0;
}

// Set-user-id and set-group-id are kept where the file has them, and never given: by its path it may be another one
// than a caller has looked at before. A new owner takes them away.
int ChangeStatOfReference(int fd, const Stat& now, const StatChange& change) {
  constexpr uint32_t kTrusted = S_ISUID | S_ISGID;
  const bool is_given_away = change.has_uid || change.has_gid;
  // A symlink has no mode of its own on Linux.
  if (is_given_away) {
    const uid_t uid = change.has_uid ? change.uid : static_cast<uid_t>(-1);
    const gid_t gid = change.has_gid ? change.gid : static_cast<gid_t>(-1);
    const int error = Try([&] { return fchownat(fd, "", uid, gid, AT_EMPTY_PATH); });
    if (error != 0) return error;
  }
  if (change.has_mode && now.type != FileType::kSymlink) {
    const uint32_t kept = is_given_away ? 0 : now.mode & kTrusted;
    const int error = ChangeMode(fd, change.mode & kPermissionBits & (~kTrusted | kept));
    if (error != 0) return error;
  }
  const Times times(change.mtime_ns);
  return change.has_mtime ? Try([&] { return utimensat(fd, "", times.both, AT_EMPTY_PATH); }) : 0;
}

// Keeps set-group-id from its folder.
int GivePermissions(int fd, uint32_t permissions) {
  Stat stat;
  const int error = StatAt(fd, "", &stat);
  if (error != 0) return error;
  const uint32_t wanted = (permissions & kPermissionBits) | (stat.mode & S_ISGID);
  return stat.mode == wanted ? 0 : ChangeMode(fd, wanted);
}

}  // namespace runnel
