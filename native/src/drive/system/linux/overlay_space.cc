// The space of overlays by the calls of Linux.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/drive/content/overlay_file.h"
#include "src/file/posix/retry.h"

namespace runnel::drive {

Kind ReserveOverlay(int fd, uint64_t offset, uint64_t length) {
  const int error =
      Try([&] { return fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(length)); });
  return error == EOPNOTSUPP ? Kind::kNone : KindOfErrno(error);
}

Kind ZeroOverlay(int fd, uint64_t offset, uint64_t end) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const int error =
      Try([&] { return fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(end - offset)); });
  if (error != 0) return KindOfErrno(error);
  struct stat stat = {};
  if (fstat(fd, &stat) != 0) return KindOfErrno(errno);
  if (static_cast<uint64_t>(stat.st_size) >= end) return Kind::kNone;
  return KindOfErrno(Try([&] { return ftruncate(fd, static_cast<off_t>(end)); }));
}

}  // namespace runnel::drive
