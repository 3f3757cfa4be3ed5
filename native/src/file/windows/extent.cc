// Holes and data of sparse files.
#include <algorithm>

#include "calls.h"
#include "src/file/file.h"

namespace runnel {

Extent ExtentAt(int fd, uint64_t offset, uint64_t length) {
  const FILE_ALLOCATED_RANGE_BUFFER asked = {{.QuadPart = static_cast<int64_t>(offset)},
                                             {.QuadPart = static_cast<int64_t>(length)}};
  // The first range only: that there are more is no failure.
  FILE_ALLOCATED_RANGE_BUFFER range = {};
  IO_STATUS_BLOCK io = {};
  const NTSTATUS status =
      NtFsControlFile(SystemHandle(fd), nullptr, nullptr, nullptr, &io, FSCTL_QUERY_ALLOCATED_RANGES,
                      const_cast<FILE_ALLOCATED_RANGE_BUFFER*>(&asked), sizeof(asked), &range, sizeof(range));
  if (status < 0 && status != STATUS_BUFFER_OVERFLOW) return {false, length};
  const uint64_t end = offset + length;
  if (io.Information < sizeof(range)) {
    FILE_STANDARD_INFORMATION size;
    if (QueryFile(SystemHandle(fd), FileStandardInformation, &size, sizeof(size)) < 0) return {false, length};
    // Past the end there is neither data nor a hole.
    const uint64_t file_end = static_cast<uint64_t>(size.EndOfFile.QuadPart);
    return file_end > offset ? Extent{true, std::min(end, file_end) - offset} : Extent{false, length};
  }
  const uint64_t from = std::max(offset, static_cast<uint64_t>(range.FileOffset.QuadPart));
  const uint64_t to = static_cast<uint64_t>(range.FileOffset.QuadPart + range.Length.QuadPart);
  if (from > offset) return {true, std::min(from, end) - offset};
  return {false, std::min(to, end) - offset};
}

}  // namespace runnel
