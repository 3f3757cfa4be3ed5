// Files of cache and overlays by the calls of Windows. What has no open file yet is asked of Win32, the rest of
// src/file/windows/.
#include "src/drive/content/overlay_file.h"

#include <algorithm>
#include <vector>

#include "src/file/file.h"
#include "src/file/windows/calls.h"

namespace runnel::drive {
namespace {

Kind KindOfLastError() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return Kind::kNotFound;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return Kind::kExists;
    case ERROR_DISK_FULL: return Kind::kNoSpace;
    case ERROR_TOO_MANY_OPEN_FILES: return Kind::kTooManyOpen;
    case ERROR_ACCESS_DENIED: return Kind::kDenied;
    default: return Kind::kIo;
  }
}

Kind OpenAt(const std::string& path, DWORD access, DWORD disposition, int* fd) {
  std::wstring wide;
  if (!ToUtf16(path, &wide)) return Kind::kInvalid;
  const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const HANDLE handle = CreateFileW(wide.c_str(), access, share, nullptr, disposition, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return KindOfLastError();
  *fd = DescriptorOf(handle);
  return Kind::kNone;
}

uint64_t SizeOf(int fd) {
  LARGE_INTEGER size = {};
  return GetFileSizeEx(SystemHandle(fd), &size) ? static_cast<uint64_t>(size.QuadPart) : 0;
}

}  // namespace

Kind OpenContentFile(const std::string& path, int* fd) { return OpenAt(path, GENERIC_READ, OPEN_EXISTING, fd); }

Kind MakeOverlayFile(const std::string& path, int* fd) {
  const Kind error = OpenAt(path, GENERIC_READ | GENERIC_WRITE, CREATE_NEW, fd);
  // Only parts of it are ever written.
  if (error == Kind::kNone) (void)ControlFile(SystemHandle(*fd), FSCTL_SET_SPARSE, nullptr, 0, nullptr, 0);
  return error;
}

Kind OpenOverlayFile(const std::string& path, int* fd) {
  return OpenAt(path, GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING, fd);
}

void RemoveOverlayFile(const std::string& path) {
  std::wstring wide;
  if (ToUtf16(path, &wide)) DeleteFileW(wide.c_str());
}

void CloseOverlay(int fd) { CloseHandle(SystemHandle(fd)); }

Kind ReadOverlay(int fd, uint64_t offset, char* to, size_t length) {
  size_t count = 0;
  const int error = ReadAt(fd, offset, reinterpret_cast<uint8_t*>(to), length, &count);
  if (error != 0) return KindOfErrno(error);
  return count == length ? Kind::kNone : Kind::kIo;
}

Kind WriteOverlay(int fd, uint64_t offset, const char* data, size_t size, size_t* written) {
  const int error = WriteAt(fd, offset, reinterpret_cast<const uint8_t*>(data), size);
  *written = error == 0 ? size : 0;
  return KindOfErrno(error);
}

// Windows takes space for the end of a file only.
Kind ReserveOverlay(int, uint64_t, uint64_t) { return Kind::kNone; }

Kind ZeroOverlay(int fd, uint64_t offset, uint64_t end) {
  if (const uint64_t size = SizeOf(fd); size < end) {
    const int error = Truncate(fd, end);
    if (error != 0) return KindOfErrno(error);
  }
  const FILE_ZERO_DATA_INFORMATION range = {{.QuadPart = static_cast<int64_t>(offset)},
                                            {.QuadPart = static_cast<int64_t>(end)}};
  const NTSTATUS status = ControlFile(SystemHandle(fd), FSCTL_SET_ZERO_DATA, &range, sizeof(range), nullptr, 0);
  if (status >= 0) return Kind::kNone;
  if (!IsUnknownCall(status)) return KindOfErrno(ErrorOf(status));
  // A file system without holes: zeros are written.
  constexpr uint64_t kPieceBytes = 64 * 1024;
  const std::vector<uint8_t> zeros(static_cast<size_t>(std::min(end - offset, kPieceBytes)));
  for (uint64_t at = offset; at < end; at += zeros.size()) {
    const int error = WriteAt(fd, at, zeros.data(), static_cast<size_t>(std::min<uint64_t>(end - at, zeros.size())));
    if (error != 0) return KindOfErrno(error);
  }
  return Kind::kNone;
}

uint64_t AllocatedBytesOf(int fd) {
  FILE_STANDARD_INFORMATION now;
  if (QueryFile(SystemHandle(fd), FileStandardInformation, &now, sizeof(now)) < 0) return 0;
  return static_cast<uint64_t>(now.AllocationSize.QuadPart);
}

}  // namespace runnel::drive
