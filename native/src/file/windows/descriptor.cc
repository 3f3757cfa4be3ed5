#include "src/file/descriptor.h"

#include "src/file/windows/calls.h"

namespace runnel {

void Descriptor::Reset(int fd) {
  if (fd_ >= 0) NtClose(SystemHandle(fd_));
  fd_ = fd;
}

}  // namespace runnel
