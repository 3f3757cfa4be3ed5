#include "attributes.h"

namespace runnel {

FileType TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return FileType::kFolder;
    case S_IFLNK: return FileType::kSymlink;
    case S_IFIFO: return FileType::kFifo;
    case S_IFSOCK: return FileType::kSocket;
    case S_IFBLK: return FileType::kBlock;
    case S_IFCHR: return FileType::kChar;
    default: return FileType::kFile;
  }
}

Times::Times(int64_t mtime_ns)
    : both{{0, UTIME_OMIT}, {mtime_ns / kNanosecondsPerSecond, mtime_ns % kNanosecondsPerSecond}} {
  if (both[1].tv_nsec < 0) {
    --both[1].tv_sec;
    both[1].tv_nsec += kNanosecondsPerSecond;
  }
}

}  // namespace runnel
