// Leases on files: the Linux way to keep other programs from writing, for a while.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>

#include "src/file/file.h"
#include "src/file/posix/retry.h"

namespace runnel {

Lease TakeLease(int fd) {
  // The system tells the holder by a signal that somebody waits. Whoever holds a lease here asks (LeaseStands) instead,
  // so it is one that does nothing unless the process wants it: the usual one, SIGIO, ends a process, and who handles
  // that is not for a library to decide.
  if (fcntl(fd, F_SETSIG, SIGURG) != 0) return Lease::kRefused;
  if (Retry([&] { return fcntl(fd, F_SETLEASE, F_RDLCK); }) == 0) return Lease::kTaken;
  return errno == EAGAIN ? Lease::kWriter : Lease::kRefused;
}

bool LeaseStands(int fd) {
  return Retry([&] { return fcntl(fd, F_GETLEASE); }) == F_RDLCK;
}

}  // namespace runnel
