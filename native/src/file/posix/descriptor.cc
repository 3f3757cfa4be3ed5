#include "src/file/descriptor.h"

#include <unistd.h>

namespace runnel {

void Descriptor::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

}  // namespace runnel
