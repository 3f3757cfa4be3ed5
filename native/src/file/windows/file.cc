#include "src/file/file.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include "calls.h"
#include "src/file/copy_range.h"

extern "C" {
NTSTATUS NTAPI NtReadFile(HANDLE, HANDLE, PIO_APC_ROUTINE, void*, PIO_STATUS_BLOCK, void*, ULONG, LARGE_INTEGER*,
                          ULONG*);
NTSTATUS NTAPI NtWriteFile(HANDLE, HANDLE, PIO_APC_ROUTINE, void*, PIO_STATUS_BLOCK, const void*, ULONG, LARGE_INTEGER*,
                           ULONG*);
NTSTATUS NTAPI NtFlushBuffersFile(HANDLE, PIO_STATUS_BLOCK);
}

namespace runnel {

namespace {

constexpr size_t kCallBytes = 16 * 1024 * 1024;
constexpr uint32_t kWriteBits = 0222;

// FILE_ID_INFORMATION.
struct IdInformation {
  uint64_t volume;
  uint8_t id[16];
};

// FILE_BASIC_INFORMATION: a time of 0 and attributes of 0 stay as they are.
struct BasicInformation {
  int64_t creation_time = 0;
  int64_t access_time = 0;
  int64_t write_time = 0;
  int64_t change_time = 0;
  uint32_t attributes = 0;
  uint32_t padding = 0;
};

uint32_t AttributesFor(uint32_t mode, uint32_t now) {
  const bool is_read_only = (mode & kWriteBits) == 0;
  const uint32_t wanted = is_read_only ? now | FILE_ATTRIBUTE_READONLY : now & ~FILE_ATTRIBUTE_READONLY;
  return wanted == 0 ? FILE_ATTRIBUTE_NORMAL : wanted;
}

// Makes a range a hole. False when the file system cannot.
bool CopyHole(int fd, uint64_t offset, uint64_t length) {
  FILE_STANDARD_INFORMATION now;
  if (QueryFile(SystemHandle(fd), FileStandardInformation, &now, sizeof(now)) < 0) return false;
  const uint64_t size = static_cast<uint64_t>(now.EndOfFile.QuadPart);
  const uint64_t end = offset + length;
  if (offset < size) {
    const FILE_ZERO_DATA_INFORMATION range = {{.QuadPart = static_cast<int64_t>(offset)},
                                              {.QuadPart = static_cast<int64_t>(std::min(end, size))}};
    if (ControlFile(SystemHandle(fd), FSCTL_SET_ZERO_DATA, &range, sizeof(range), nullptr, 0) < 0) return false;
  }
  return end <= size || Truncate(fd, end) == 0;
}

void Append(std::vector<uint8_t>* bytes, const void* from, size_t length) {
  const auto* first = static_cast<const uint8_t*>(from);
  bytes->insert(bytes->end(), first, first + length);
}

}  // namespace

int ReadAt(int fd, uint64_t offset, uint8_t* bytes, size_t length, size_t* count) {
  *count = 0;
  while (*count < length) {
    IO_STATUS_BLOCK io = {};
    LARGE_INTEGER at = {.QuadPart = static_cast<int64_t>(offset + *count)};
    const auto wanted = static_cast<ULONG>(std::min(length - *count, kCallBytes));
    const NTSTATUS status =
        NtReadFile(SystemHandle(fd), nullptr, nullptr, nullptr, &io, bytes + *count, wanted, &at, nullptr);
    if (status == STATUS_END_OF_FILE) return 0;
    if (status < 0) return ErrorOf(status);
    if (io.Information == 0) return 0;
    *count += io.Information;
  }
  return 0;
}

int WriteAt(int fd, uint64_t offset, const uint8_t* bytes, size_t length) {
  size_t done = 0;
  while (done < length) {
    IO_STATUS_BLOCK io = {};
    LARGE_INTEGER at = {.QuadPart = static_cast<int64_t>(offset + done)};
    const auto wanted = static_cast<ULONG>(std::min(length - done, kCallBytes));
    const NTSTATUS status =
        NtWriteFile(SystemHandle(fd), nullptr, nullptr, nullptr, &io, bytes + done, wanted, &at, nullptr);
    if (status < 0) return ErrorOf(status);
    done += io.Information;
  }
  return 0;
}

int CopyRange(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t length, uint64_t* count) {
  *count = 0;
  if (length == 0) return 0;
  const int overlap = CheckOverlap(from, from_offset, to, to_offset, length);
  if (overlap != 0) return overlap;
  while (*count < length) {
    const Extent extent = ExtentAt(from, from_offset + *count, length - *count);
    if (extent.is_hole && CopyHole(to, to_offset + *count, extent.length)) {
      *count += extent.length;
      continue;
    }
    uint64_t copied = 0;
    const int error = CopyThroughMemory(from, from_offset + *count, to, to_offset + *count, extent.length, &copied);
    *count += copied;
    if (error != 0 || copied < extent.length) return error;
  }
  return 0;
}

int Truncate(int fd, uint64_t length) {
  const LARGE_INTEGER end = {.QuadPart = static_cast<int64_t>(length)};
  return ErrorOf(SetFile(SystemHandle(fd), FileEndOfFileInformation, &end, sizeof(end)));
}

// Windows writes data and metadata together.
int Sync(int fd, bool) {
  IO_STATUS_BLOCK io = {};
  return ErrorOf(NtFlushBuffersFile(SystemHandle(fd), &io));
}

int StatFile(int fd, Stat* stat) { return StatOfHandle(SystemHandle(fd), stat); }

// Windows knows no numbers for users: an owner cannot be given.
int ChangeStat(int fd, const StatChange& change) {
  if (change.has_uid || change.has_gid) return EOPNOTSUPP;
  BasicInformation wanted;
  if (change.has_mtime) wanted.write_time = WindowsTimeOf(change.mtime_ns);
  if (change.has_mode) {
    FILE_BASIC_INFORMATION now;
    const int error = ErrorOf(QueryFile(SystemHandle(fd), FileBasicInformation, &now, sizeof(now)));
    if (error != 0) return error;
    const bool is_folder = (now.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    // On a folder the attribute means something else: that Explorer shows it in its own way.
    if (!is_folder) wanted.attributes = AttributesFor(change.mode, now.FileAttributes);
  }
  return ErrorOf(SetFile(SystemHandle(fd), FileBasicInformation, &wanted, sizeof(wanted)));
}

int HandleOf(int fd, std::vector<uint8_t>* handle) {
  enum Kind : uint32_t { kWideId = 1, kNarrowId = 2 };
  uint32_t kind = kWideId;
  handle->clear();
  IdInformation wide;
  const NTSTATUS status = QueryFile(SystemHandle(fd), kIdInformation, &wide, sizeof(wide));
  if (status >= 0) {
    Append(handle, &kind, sizeof(kind));
    Append(handle, &wide, sizeof(wide));
    return 0;
  }
  if (!IsUnknownCall(status)) return ErrorOf(status);
  BY_HANDLE_FILE_INFORMATION narrow;
  if (!GetFileInformationByHandle(SystemHandle(fd), &narrow)) return EIO;
  kind = kNarrowId;
  Append(handle, &kind, sizeof(kind));
  for (const DWORD part : {narrow.dwVolumeSerialNumber, narrow.nFileIndexHigh, narrow.nFileIndexLow}) {
    Append(handle, &part, sizeof(part));
  }
  return 0;
}

// The system reads ahead by itself; there is no call to ask for it.
void WillRead(int, uint64_t, uint64_t) {}

int CloseFile(int fd) { return ErrorOf(NtClose(SystemHandle(fd))); }

}  // namespace runnel
