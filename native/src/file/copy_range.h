// The parts of CopyRange that are the same on every system.
#ifndef RUNNEL_FILE_COPY_RANGE_H_
#define RUNNEL_FILE_COPY_RANGE_H_

#include <cstdint>

namespace runnel {

// EINVAL when both are the same file and the ranges overlap.
int CheckOverlap(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length);

// Adds to `count` what was copied; short only at the source's end.
int CopyThroughMemory(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count);

}  // namespace runnel

#endif  // RUNNEL_FILE_COPY_RANGE_H_
