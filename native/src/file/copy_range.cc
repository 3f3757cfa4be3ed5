#include "copy_range.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "file.h"

namespace runnel {

namespace {

constexpr size_t kCopyBytes = 256 * 1024;

}  // namespace

int CheckOverlap(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length) {
  if (from_offset >= to_offset + length || to_offset >= from_offset + length) return 0;
  Stat from_stat, to_stat;
  int error = StatFile(from, &from_stat);
  if (error == 0) error = StatFile(to, &to_stat);
  if (error != 0) return error;
  return from_stat.dev == to_stat.dev && from_stat.ino == to_stat.ino ? EINVAL : 0;
}

int CopyThroughMemory(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count) {
  std::vector<uint8_t> buffer(static_cast<size_t>(std::min<uint64_t>(length, kCopyBytes)));
  while (*count < length) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(length - *count, buffer.size()));
    size_t got = 0;
    int error = ReadAt(from, from_offset + *count, buffer.data(), wanted, &got);
    if (error == 0) error = WriteAt(to, to_offset + *count, buffer.data(), got);
    if (error != 0) return error;
    *count += got;
    if (got < wanted) return 0;
  }
  return 0;
}

}  // namespace runnel
