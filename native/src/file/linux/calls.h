// Shared by the Linux files of this folder: statx read into a Stat, and changing what it says.
#ifndef RUNNEL_FILE_LINUX_CALLS_H_
#define RUNNEL_FILE_LINUX_CALLS_H_

#include <cstdint>

#include "src/file/posix/retry.h"
#include "src/file/stat.h"

namespace runnel {

// statx(2) of `name` in `folder`, never following a symlink; "" is the descriptor itself.
int StatAt(int folder, const char* name, Stat* stat);

// Changes a regular file, folder or special by any descriptor of it, O_PATH too.
int ChangeStatOfReference(int fd, const Stat& now, const StatChange& change);

// Gives something just made exactly these permissions (the umask took some away), but keeps set-group-id from its
// folder.
int GivePermissions(int fd, uint32_t permissions);

}  // namespace runnel

#endif  // RUNNEL_FILE_LINUX_CALLS_H_
