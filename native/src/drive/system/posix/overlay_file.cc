// Files of cache and overlays by the calls of POSIX. How space is taken and given back, each system has for itself
// (overlay_space.cc).
#include "src/drive/content/overlay_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/file/posix/retry.h"

namespace runnel::drive {
namespace {

Kind OpenAt(const std::string& path, int flags, int* fd) {
  *fd = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, 0600); });
  return *fd < 0 ? KindOfErrno(errno) : Kind::kNone;
}

}  // namespace

Kind OpenContentFile(const std::string& path, int* fd) { return OpenAt(path, O_RDONLY, fd); }

Kind MakeOverlayFile(const std::string& path, int* fd) {
  return OpenAt(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, fd);
}

Kind OpenOverlayFile(const std::string& path, int* fd) { return OpenAt(path, O_RDWR | O_NOFOLLOW, fd); }

void RemoveOverlayFile(const std::string& path) { unlink(path.c_str()); }

void CloseOverlay(int fd) { close(fd); }

Kind ReadOverlay(int fd, uint64_t offset, char* to, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t count = Retry([&] { return pread(fd, to + done, length - done, static_cast<off_t>(offset + done)); });
    if (count <= 0) return count < 0 ? KindOfErrno(errno) : Kind::kIo;
    done += static_cast<size_t>(count);
  }
  return Kind::kNone;
}

Kind WriteOverlay(int fd, uint64_t offset, const char* data, size_t size, size_t* written) {
  *written = 0;
  while (*written < size) {
    const off_t at = static_cast<off_t>(offset + *written);
    const ssize_t count = Retry([&] { return pwrite(fd, data + *written, size - *written, at); });
    if (count <= 0) return count < 0 ? KindOfErrno(errno) : Kind::kIo;
    *written += static_cast<size_t>(count);
  }
  return Kind::kNone;
}

uint64_t AllocatedBytesOf(int fd) {
  constexpr uint64_t kStatBlock = 512;  // stat(2)
  struct stat stat = {};
  if (fstat(fd, &stat) != 0) return 0;
  return static_cast<uint64_t>(stat.st_blocks) * kStatBlock;
}

}  // namespace runnel::drive
