// Leases on files: the Linux way to keep other programs from writing, for a while.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <mutex>

#include "src/file/file.h"
#include "src/file/posix/retry.h"

namespace runnel {

namespace {

// The system tells the holder of a lease by SIGIO that somebody waits, which would end a process that does nothing about
// it. Whoever holds a lease here asks (LeaseStands) instead.
void IgnoreLeaseSignal() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction now;
    if (sigaction(SIGIO, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGIO, SIG_IGN);
  });
}

}  // namespace

Lease TakeLease(int fd) {
  IgnoreLeaseSignal();
  if (Retry([&] { return fcntl(fd, F_SETLEASE, F_RDLCK); }) == 0) return Lease::kTaken;
  return errno == EAGAIN ? Lease::kWriter : Lease::kRefused;
}

bool LeaseStands(int fd) { return Retry([&] { return fcntl(fd, F_GETLEASE); }) == F_RDLCK; }

}  // namespace runnel
