// Reads ranges of files for jobs: in steps, the next one being read ahead meanwhile, and holes not at all, since the
// system would fill memory with their zeros.
#ifndef RUNNEL_BRIDGE_DISK_READ_H_
#define RUNNEL_BRIDGE_DISK_READ_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/bridge/core/failure.h"
#include "src/file/file.h"

namespace runnel {

inline constexpr size_t kReadStepBytes = 1024 * 1024;

// Feeds a range of a file to `take(bytes, length)` step by step, and holes, however large, to `take_zeros(length)`.
// kStaleCode when the file ends before the range does.
template <typename Take, typename TakeZeros>
Failure ReadRange(int fd, uint64_t offset, uint64_t length, Take take, TakeZeros take_zeros) {
  std::vector<uint8_t> buffer;
  Extent extent = {false, 0};
  for (uint64_t done = 0; done < length;) {
    if (extent.length == 0) extent = ExtentAt(fd, offset + done, length - done);
    uint64_t taken = extent.length;
    if (extent.is_hole) {
      take_zeros(extent.length);
    } else {
      const size_t wanted = static_cast<size_t>(std::min<uint64_t>(extent.length, kReadStepBytes));
      if (wanted > buffer.size()) buffer.resize(wanted);
      if (extent.length > wanted) WillRead(fd, offset + done + wanted, kReadStepBytes);
      size_t count = 0;
      const int error = ReadAt(fd, offset + done, buffer.data(), wanted, &count);
      if (error != 0) return error;
      if (count < wanted) return Failure(kStaleCode);
      take(buffer.data(), count);
      taken = count;
    }
    done += taken;
    extent.length -= taken;
  }
  return {};
}

// Reads a range of a file, all of it.
inline Failure ReadInto(int fd, uint64_t offset, uint64_t length, uint8_t* into) {
  for (uint64_t done = 0; done < length;) {
    const Extent extent = ExtentAt(fd, offset + done, length - done);
    size_t count = static_cast<size_t>(extent.length);
    if (extent.is_hole) {
      std::fill_n(into + done, count, 0);
    } else {
      const int error = ReadAt(fd, offset + done, into + done, static_cast<size_t>(extent.length), &count);
      if (error != 0) return error;
      if (count < extent.length) return Failure(kStaleCode);
    }
    done += count;
  }
  return {};
}

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_DISK_READ_H_
