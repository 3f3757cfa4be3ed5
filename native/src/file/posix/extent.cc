// Finds holes by POSIX. Compiled into both addons.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/file/file.h"

namespace runnel {

Extent ExtentAt(int fd, uint64_t offset, uint64_t length) {
  const off_t at = static_cast<off_t>(offset);
  off_t data = lseek(fd, at, SEEK_DATA);
  // None until the end; past that there is neither data nor a hole.
  if (data < 0 && errno == ENXIO) data = lseek(fd, 0, SEEK_END);
  if (data > at) return {true, std::min(length, static_cast<uint64_t>(data - at))};
  const off_t hole = data < at ? -1 : lseek(fd, at, SEEK_HOLE);
  return {false, hole <= at ? length : std::min(length, static_cast<uint64_t>(hole - at))};
}

}  // namespace runnel
