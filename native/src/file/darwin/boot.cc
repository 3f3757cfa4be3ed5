#include "src/file/boot.h"

#include <sys/sysctl.h>

namespace runnel {

std::string SystemBoot() {
  char text[64];
  size_t size = sizeof(text);
  if (sysctlbyname("kern.bootsessionuuid", text, &size, nullptr, 0) != 0 || size == 0) return "";
  return {text, size - 1};
}

}  // namespace runnel
