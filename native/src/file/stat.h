// The result of an lstat, in the order in which disk.ts has it.
#ifndef RUNNEL_FILE_STAT_H_
#define RUNNEL_FILE_STAT_H_

#include <cstdint>

namespace runnel {

// The numbers cross to TypeScript, where stat-record.ts has the same list.
enum class FileType : int { kFile = 0, kFolder = 1, kSymlink = 2, kFifo = 3, kSocket = 4, kBlock = 5, kChar = 6 };

struct Stat {
  FileType type = FileType::kFile;
  uint32_t mode = 0;  // 12 bits
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t dev = 0;
  uint64_t ino = 0;
  uint32_t nlink = 0;
  uint64_t rdev = 0;
};

// Attributes to change; a field whose `has_` is false stays as it is.
struct StatChange {
  bool has_mode = false;
  uint32_t mode = 0;
  bool has_uid = false;
  uint32_t uid = 0;
  bool has_gid = false;
  uint32_t gid = 0;
  bool has_mtime = false;
  int64_t mtime_ns = 0;
};

struct Space {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t available_bytes = 0;
  uint64_t total_files = 0;
  uint64_t free_files = 0;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_STAT_H_
