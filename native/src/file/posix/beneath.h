// Finding the way beneath a root without following symlinks or leaving its file system. What opens one part of the way
// is each system's: openat2(2) with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and NO_XDEV on Linux, openat(2) with
// O_NOFOLLOW_ANY on macOS.
#ifndef RUNNEL_FILE_POSIX_BENEATH_H_
#define RUNNEL_FILE_POSIX_BENEATH_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "src/file/descriptor.h"
#include "src/file/root.h"

namespace runnel {

// The folder and the name of a path's last part, for calls that take these two.
struct Place {
  Descriptor folder;
  std::string name;
};

// Paths longer than PATH_MAX are walked in parts.
int OpenBeneath(int root, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened);

// EINVAL for "", which has no name.
int FindPlace(int root, const std::string& path, Place* place);

// ── what each system has of its own ──

// Opens a folder to find what is in it: by reference only, where the system can.
extern const int kFolderReference;

// Opens a path that is shorter than PATH_MAX. EXDEV for another file system than the folder's.
int OpenPart(int folder, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened);

// Gives something just made exactly these permissions: the umask took some away.
int GivePermissions(int fd, uint32_t permissions);

// The same for what was made at a place. What another program put there meanwhile is not touched.
int GivePermissionsAt(const Place& place, mode_t format, uint32_t permissions);

int RenamePlace(const Place& from, const Place& to, RenameMode mode);

}  // namespace runnel

#endif  // RUNNEL_FILE_POSIX_BENEATH_H_
