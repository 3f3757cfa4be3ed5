// libfuse's reads and writes of /dev/fuse, so that what it leaves out of its answer to INIT can be put in.
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>

#include "src/drive/fuse/fuse_front.h"
#include "src/drive/fuse/kernel_side.h"

namespace runnel::drive {
namespace {

ssize_t Read(int fd, void* buffer, size_t size, void*) { return read(fd, buffer, size); }

// libfuse before 3.17 does not pass FUSE_PARALLEL_DIROPS on (its pull request 861). Without it the kernel sends no two
// lookups of one folder at a time: one that waits for the server would hold up whoever else wants something there.
ssize_t Write(int fd, iovec* parts, int count, void* front) {
  // The answer to INIT is the first that goes out, and nothing else is asked before.
  if (static_cast<FuseFront*>(front)->TakeInit() && count > 1 && parts[1].iov_len > offsetof(fuse_init_out, flags)) {
    static_cast<fuse_init_out*>(parts[1].iov_base)->flags |= FUSE_PARALLEL_DIROPS;
  }
  return writev(fd, parts, count);
}

}  // namespace

void SetSessionIo(fuse_session* session) {
  fuse_custom_io io = {};
  io.read = Read;
  io.writev = Write;
  fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

}  // namespace runnel::drive
