#include "src/file/boot.h"

#include <fcntl.h>
#include <unistd.h>

#include "src/file/descriptor.h"

namespace runnel {

std::string SystemBoot() {
  const Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t length = file.is_open() ? read(file.get(), text, sizeof(text)) : -1;
  std::string boot(text, length > 0 ? static_cast<size_t>(length) : 0);
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

}  // namespace runnel
