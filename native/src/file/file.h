// Operations on an open regular file. All block, are safe to call from any thread, and return 0 or an errno number.
// Descriptors are borrowed: the caller keeps them open until the call returns.
#ifndef RUNNEL_FILE_FILE_H_
#define RUNNEL_FILE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stat.h"

namespace runnel {

// Reads until `length` bytes or the end of the file; `count` says how many.
int ReadAt(int fd, uint64_t offset, uint8_t* bytes, size_t length, size_t* count);

// Writes all of it; after a failure some of it may have been written.
int WriteAt(int fd, uint64_t offset, const uint8_t* bytes, size_t length);

struct Extent {
  bool is_hole;
  uint64_t length;
};

// Returns whether the offset is in a hole, and how far that or the data goes on, at most `length`. A file system that
// knows no holes has none. Moves the descriptor's position.
Extent ExtentAt(int fd, uint64_t offset, uint64_t length);

// Copies within the system where it can, else through memory; a hole becomes a hole. `count` is short only at the
// source's end. EINVAL when both are the same file and the ranges overlap. After a failure some of it may have been
// written.
int CopyRange(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count);

int Truncate(int fd, uint64_t length);

int Sync(int fd, bool data_only);
int StatFile(int fd, Stat* stat);
int ChangeStat(int fd, const StatChange& change);

// name_to_handle_at(2): the type, 4 bytes little-endian, and the handle's bytes. Takes an O_PATH descriptor of
// anything.
int HandleOf(int fd, std::vector<uint8_t>* handle);

// Tells the system that the range will be read soon.
void WillRead(int fd, uint64_t offset, uint64_t length);

// Outcomes of an attempt to keep a file from being written to.
enum class Lease : uint8_t {
  // Until the descriptor is closed, whoever opens the file for writing or cuts it waits, as long as the system lets him
  // wait.
  kTaken,
  // Somebody has it open for writing.
  kWriter,
  // The system, the file system or the file's owner does not allow it.
  kRefused,
};

// Takes a lease for reading on a descriptor that is open for reading only (Linux: fcntl(2), F_SETLEASE; elsewhere
// refused).
Lease TakeLease(int fd);

// Returns whether a lease that was taken still stands and nobody waits for its end.
bool LeaseStands(int fd);

// Outcomes of an attempt to lock an open file.
enum class Lock : uint8_t {
  // Until the descriptor is closed, at the latest with the process, however that ends.
  kTaken,
  // Another opening of the file has it, of this process or another one.
  kHeld,
  // The system or the file system has no such locks.
  kRefused,
};

// Locks a file for this opening, without waiting (POSIX: flock(2), LOCK_EX; elsewhere refused). Whoever asks for no
// lock does not notice.
Lock TakeLock(int fd);

int CloseFile(int fd);

}  // namespace runnel

#endif  // RUNNEL_FILE_FILE_H_
