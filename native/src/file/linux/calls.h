// Shared by the Linux files of this folder: system calls with the retry that every caller needs, and statx read into a
// Stat.
#ifndef RUNNEL_FILE_LINUX_CALLS_H_
#define RUNNEL_FILE_LINUX_CALLS_H_

#include <cerrno>
#include <cstdint>

#include "src/file/stat.h"

namespace runnel {

// Runs `call` until it is not interrupted by a signal; its result is negative on failure, with errno.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// 0, or the errno number of a call whose result is negative on failure.
template <typename Call>
int Try(Call call) {
  return Retry(call) < 0 ? errno : 0;
}

// statx(2) of `name` in `folder`, never following a symlink; "" is the descriptor itself.
int StatAt(int folder, const char* name, Stat* stat);

// Changes a regular file, folder or special by any descriptor of it, O_PATH too.
int ChangeStatOfReference(int fd, const Stat& now, const StatChange& change);

// Gives something just made exactly these permissions (the umask took some away), but keeps set-group-id from its
// folder.
int GivePermissions(int fd, uint32_t permissions);

}  // namespace runnel

#endif  // RUNNEL_FILE_LINUX_CALLS_H_
