// Reading, writing, cutting and closing an open file.
#include <unistd.h>

#include "retry.h"
#include "src/file/file.h"

namespace runnel {

int ReadAt(int fd, uint64_t offset, uint8_t* bytes, size_t length, size_t* count) {
  *count = 0;
  while (*count < length) {
    const ssize_t got =
        Retry([&] { return pread(fd, bytes + *count, length - *count, static_cast<off_t>(offset + *count)); });
    if (got < 0) return errno;
    if (got == 0) return 0;
    *count += static_cast<size_t>(got);
  }
  return 0;
}

int WriteAt(int fd, uint64_t offset, const uint8_t* bytes, size_t length) {
  size_t done = 0;
  while (done < length) {
    const off_t at = static_cast<off_t>(offset + done);
    const ssize_t put = Retry([&] { return pwrite(fd, bytes + done, length - done, at); });
    if (put < 0) return errno;
    done += static_cast<size_t>(put);
  }
  return 0;
}

int Truncate(int fd, uint64_t length) {
  return Try([&] { return ftruncate(fd, static_cast<off_t>(length)); });
}

int CloseFile(int fd) { return close(fd) < 0 && errno != EINTR ? errno : 0; }

}  // namespace runnel
