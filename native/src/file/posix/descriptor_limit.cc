// The number of files that a process may have open, by POSIX.
#include <sys/resource.h>

#include "src/file/descriptor.h"

namespace runnel {
namespace {

// Stands where there is no limit, or none can be had; macOS's OPEN_MAX.
constexpr size_t kUnlimited = 10240;

}  // namespace

size_t DescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return static_cast<size_t>(limit.rlim_cur);
}

}  // namespace runnel
