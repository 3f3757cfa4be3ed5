// The space of overlays by the calls of macOS.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "src/drive/content/overlay_file.h"
#include "src/drive/drive.h"
#include "src/file/posix/retry.h"

namespace runnel::drive {
namespace {

Kind WriteZeros(int fd, uint64_t offset, uint64_t end) {
  constexpr uint64_t kPieceBytes = 64 * 1024;
  const std::vector<char> zeros(static_cast<size_t>(std::min(end - offset, kPieceBytes)));
  for (uint64_t at = offset; at < end;) {
    size_t written = 0;
    const Kind error =
        WriteOverlay(fd, at, zeros.data(), static_cast<size_t>(std::min<uint64_t>(end - at, zeros.size())), &written);
    if (error != Kind::kNone) return error;
    at += written;
  }
  return Kind::kNone;
}

}  // namespace

// macOS takes space for the end of a file only.
Kind ReserveOverlay(int, uint64_t, uint64_t) { return Kind::kNone; }

// Only whole blocks can be holes.
Kind ZeroOverlay(int fd, uint64_t offset, uint64_t end) {
  struct stat stat = {};
  if (fstat(fd, &stat) != 0) return KindOfErrno(errno);
  if (static_cast<uint64_t>(stat.st_size) < end) {
    const int error = Try([&] { return ftruncate(fd, static_cast<off_t>(end)); });
    if (error != 0) return KindOfErrno(error);
  }
  const uint64_t first = WholeBlocks(offset);
  const uint64_t last = end / kBlockBytes * kBlockBytes;
  if (first >= last) return WriteZeros(fd, offset, end);
  fpunchhole_t hole = {};
  hole.fp_offset = static_cast<off_t>(first);
  hole.fp_length = static_cast<off_t>(last - first);
  if (Try([&] { return fcntl(fd, F_PUNCHHOLE, &hole); }) != 0) return WriteZeros(fd, offset, end);
  const Kind error = WriteZeros(fd, offset, first);
  return error != Kind::kNone ? error : WriteZeros(fd, last, end);
}

}  // namespace runnel::drive
