// Shared by the macOS files of this folder: lstat read into a Stat, and changing what it says. macOS has no descriptors
// for reference only (O_PATH), so what a path names is always a folder's descriptor and a name in it.
#ifndef RUNNEL_FILE_DARWIN_CALLS_H_
#define RUNNEL_FILE_DARWIN_CALLS_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/file/descriptor.h"
#include "src/file/posix/retry.h"
#include "src/file/stat.h"

namespace runnel {

Stat StatFrom(const struct stat& from);

// Device, number, and the time when it was made: APFS uses no number twice, older file systems do.
std::vector<uint8_t> HandleFrom(const struct stat& from);

// Gives something just made exactly these permissions: the umask took some away.
int GivePermissions(int fd, uint32_t permissions);

// Times as utimensat(2) and futimens(2) take them: the last access stays.
struct Times {
  explicit Times(int64_t mtime_ns);
  struct timespec both[2];
};

// openat(2) with O_NOFOLLOW_ANY (macOS 11). Paths longer than PATH_MAX are walked in parts. EXDEV for another file
// system.
int OpenBeneath(int root, const std::string& path, int flags, uint32_t permissions, Descriptor* opened);

// The folder and the name of a path's last part, for calls that take these two.
struct Place {
  Descriptor folder;
  std::string name;
};

// "" is the root itself, named "." in it.
int FindPlace(int root, const std::string& path, Place* place);

// lstat(2) of what a path names.
int StatPlace(int root, const std::string& path, struct stat* stat);

}  // namespace runnel

#endif  // RUNNEL_FILE_DARWIN_CALLS_H_
