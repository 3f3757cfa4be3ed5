// Locks that the system holds for an open file.
#include <sys/file.h>

#include <cerrno>

#include "src/file/file.h"
#include "src/file/posix/retry.h"

namespace runnel {

Lock TakeLock(int fd) {
  if (Retry([&] { return flock(fd, LOCK_EX | LOCK_NB); }) == 0) return Lock::kTaken;
  return errno == EWOULDBLOCK ? Lock::kHeld : Lock::kRefused;
}

}  // namespace runnel
