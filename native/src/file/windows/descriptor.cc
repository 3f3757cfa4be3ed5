#include "src/file/descriptor.h"

#include "calls.h"

namespace runnel {

void Descriptor::Reset(int fd) {
  if (fd_ >= 0) NtClose(SystemHandle(fd_));
  fd_ = fd;
}

// A process of Windows may have millions of handles: what is of use, rather than what there may be.
size_t DescriptorLimit() {
  constexpr size_t kOfUse = 16384;
  return kOfUse;
}

}  // namespace runnel
