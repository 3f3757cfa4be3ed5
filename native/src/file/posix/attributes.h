// Attributes as system calls have them, and as a Stat does.
#ifndef RUNNEL_FILE_POSIX_ATTRIBUTES_H_
#define RUNNEL_FILE_POSIX_ATTRIBUTES_H_

#include <sys/stat.h>

#include <cstdint>

#include "src/file/stat.h"

namespace runnel {

inline constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
inline constexpr uint32_t kPermissionBits = 07777;

FileType TypeOf(mode_t mode);

// Times as utimensat(2) and futimens(2) take them: the last access stays.
struct Times {
  explicit Times(int64_t mtime_ns);
  struct timespec both[2];
};

// lstat of a name in a folder; each system's own.
int StatAt(int folder, const char* name, Stat* stat);

}  // namespace runnel

#endif  // RUNNEL_FILE_POSIX_ATTRIBUTES_H_
