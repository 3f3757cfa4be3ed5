// getdents64(2).
#include "src/file/posix/folder_names.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "src/file/posix/retry.h"

namespace runnel {

int ReadSomeNames(int folder, bool* is_end, const TakeName& take) {
  constexpr size_t kReadBytes = 64 * 1024;
  alignas(struct dirent64) char buffer[kReadBytes];
  const long length = Retry([&] { return syscall(SYS_getdents64, folder, buffer, sizeof(buffer)); });
  if (length < 0) return errno;
  *is_end = length == 0;
  for (long at = 0; at < length;) {
    const auto* entry = reinterpret_cast<const struct dirent64*>(buffer + at);
    const bool is_dots = std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
    const int error = is_dots ? 0 : take(entry->d_name, entry->d_type);
    if (error != 0) return error;
    at += entry->d_reclen;
  }
  return 0;
}

}  // namespace runnel
