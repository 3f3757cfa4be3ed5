#include "calls.h"

#include <cerrno>

namespace runnel {

namespace {

// Missing from some versions of ntstatus.h.
constexpr NTSTATUS kReparsePointEncountered = static_cast<NTSTATUS>(0xC000050B);

struct StatusErrno {
  NTSTATUS status;
  int error;
};

constexpr StatusErrno kErrnoOfStatus[] = {
    {STATUS_ACCESS_DENIED, EACCES},
    {STATUS_CANNOT_DELETE, EACCES},
    {STATUS_PRIVILEGE_NOT_HELD, EPERM},
    {STATUS_SHARING_VIOLATION, EBUSY},
    {STATUS_USER_MAPPED_FILE, EBUSY},
    {STATUS_FILE_LOCK_CONFLICT, EAGAIN},
    {STATUS_NO_SUCH_FILE, ENOENT},
    {STATUS_OBJECT_NAME_NOT_FOUND, ENOENT},
    {STATUS_OBJECT_PATH_NOT_FOUND, ENOENT},
    // Removed, and still open somewhere.
    {STATUS_DELETE_PENDING, ENOENT},
    {STATUS_FILE_DELETED, ENOENT},
    {STATUS_NOT_A_DIRECTORY, ENOTDIR},
    {STATUS_FILE_IS_A_DIRECTORY, EISDIR},
    {STATUS_OBJECT_NAME_COLLISION, EEXIST},
    {STATUS_OBJECT_NAME_INVALID, EINVAL},
    {STATUS_OBJECT_PATH_SYNTAX_BAD, EINVAL},
    {STATUS_INVALID_PARAMETER, EINVAL},
    {STATUS_NAME_TOO_LONG, ENAMETOOLONG},
    {STATUS_DIRECTORY_NOT_EMPTY, ENOTEMPTY},
    {kReparsePointEncountered, ELOOP},
    {STATUS_STOPPED_ON_SYMLINK, ELOOP},
    {STATUS_NOT_SAME_DEVICE, EXDEV},
    {STATUS_DISK_FULL, ENOSPC},
    {STATUS_QUOTA_EXCEEDED, ENOSPC},
    {STATUS_MEDIA_WRITE_PROTECTED, EROFS},
    {STATUS_TOO_MANY_LINKS, EMLINK},
    {STATUS_TOO_MANY_OPENED_FILES, EMFILE},
    {STATUS_NO_MEMORY, ENOMEM},
    {STATUS_INSUFFICIENT_RESOURCES, ENOMEM},
    {STATUS_INVALID_HANDLE, EBADF},
    {STATUS_NOT_SUPPORTED, EOPNOTSUPP},
    {STATUS_NOT_IMPLEMENTED, EOPNOTSUPP},
    {STATUS_INVALID_DEVICE_REQUEST, EOPNOTSUPP},
};

// From 1601-01-01 to 1970-01-01.
constexpr int64_t kEpochTicks = 116'444'736'000'000'000;
constexpr int64_t kTickNanoseconds = 100;
// A record's number on NTFS; above it stands how often the record was used, which a handle of file.h tells.
constexpr uint64_t kRecordMask = (1ull << 48) - 1;
// The one permission that Windows keeps as an attribute is that to write.
constexpr uint32_t kFileMode = 0644;
constexpr uint32_t kFolderMode = 0755;
constexpr uint32_t kWriteBits = 0222;

FileType TypeOf(uint32_t attributes, uint32_t tag) {
  const bool is_link = tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && is_link) return FileType::kSymlink;
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileType::kFolder : FileType::kFile;
}

}  // namespace

int ErrorOf(NTSTATUS status) {
  if (status >= 0) return 0;
  for (const StatusErrno& known : kErrnoOfStatus) {
    if (known.status == status) return known.error;
  }
  return EIO;
}

bool IsUnknownCall(NTSTATUS status) {
  return status == STATUS_INVALID_INFO_CLASS || status == STATUS_NOT_IMPLEMENTED || status == STATUS_NOT_SUPPORTED ||
         status == STATUS_INVALID_PARAMETER || status == STATUS_INVALID_DEVICE_REQUEST;
}

bool ToUtf16(std::string_view utf8, std::wstring* utf16) {
  utf16->clear();
  if (utf8.empty()) return true;
  const int bytes = static_cast<int>(utf8.size());
  const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), bytes, nullptr, 0);
  utf16->resize(static_cast<size_t>(length));
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), bytes, utf16->data(), length) != 0;
}

bool ToUtf8(std::wstring_view utf16, std::string* utf8) {
  utf8->clear();
  if (utf16.empty()) return true;
  const int length = static_cast<int>(utf16.size());
  const DWORD strict = WC_ERR_INVALID_CHARS;
  const int bytes = WideCharToMultiByte(CP_UTF8, strict, utf16.data(), length, nullptr, 0, nullptr, nullptr);
  utf8->resize(static_cast<size_t>(bytes));
  return WideCharToMultiByte(CP_UTF8, strict, utf16.data(), length, utf8->data(), bytes, nullptr, nullptr) != 0;
}

NTSTATUS QueryFile(HANDLE file, int information, void* into, size_t length) {
  IO_STATUS_BLOCK io = {};
  return NtQueryInformationFile(file, &io, into, static_cast<ULONG>(length),
                                static_cast<FILE_INFORMATION_CLASS>(information));
}

NTSTATUS SetFile(HANDLE file, int information, const void* from, size_t length) {
  IO_STATUS_BLOCK io = {};
  return NtSetInformationFile(file, &io, const_cast<void*>(from), static_cast<ULONG>(length),
                              static_cast<FILE_INFORMATION_CLASS>(information));
}

NTSTATUS ControlFile(HANDLE file, uint32_t code, const void* in, size_t in_length, void* out, size_t out_length) {
  IO_STATUS_BLOCK io = {};
  return NtFsControlFile(file, nullptr, nullptr, nullptr, &io, code, const_cast<void*>(in),
                         static_cast<ULONG>(in_length), out, static_cast<ULONG>(out_length));
}

int64_t NanosecondsOf(int64_t windows_time) { return (windows_time - kEpochTicks) * kTickNanoseconds; }

int64_t WindowsTimeOf(int64_t nanoseconds) {
  int64_t ticks = nanoseconds / kTickNanoseconds;
  if (nanoseconds % kTickNanoseconds < 0) --ticks;
  return ticks + kEpochTicks;
}

int StatOfHandle(HANDLE file, Stat* stat) {
  BY_HANDLE_FILE_INFORMATION by_handle;
  FILE_BASIC_INFO basic;
  if (!GetFileInformationByHandle(file, &by_handle)) return GetLastError() == ERROR_INVALID_HANDLE ? EBADF : EIO;
  int error = ErrorOf(QueryFile(file, FileBasicInformation, &basic, sizeof(FILE_BASIC_INFORMATION)));
  if (error != 0) return error;
  FILE_ATTRIBUTE_TAG_INFO tag = {};
  if ((by_handle.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    error = ErrorOf(QueryFile(file, FileAttributeTagInformation, &tag, sizeof(tag)));
    if (error != 0) return error;
  }
  stat->type = TypeOf(by_handle.dwFileAttributes, tag.ReparseTag);
  stat->mode = stat->type == FileType::kFolder ? kFolderMode : kFileMode;
  const bool is_read_only = (by_handle.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0;
  if (is_read_only && stat->type == FileType::kFile) stat->mode &= ~kWriteBits;
  const bool has_size = stat->type == FileType::kFile;
  stat->size_bytes = has_size ? (static_cast<uint64_t>(by_handle.nFileSizeHigh) << 32) + by_handle.nFileSizeLow : 0;
  stat->mtime_ns = NanosecondsOf(basic.LastWriteTime.QuadPart);
  stat->ctime_ns = NanosecondsOf(basic.ChangeTime.QuadPart);
  stat->dev = by_handle.dwVolumeSerialNumber;
  stat->ino = ((static_cast<uint64_t>(by_handle.nFileIndexHigh) << 32) + by_handle.nFileIndexLow) & kRecordMask;
  stat->nlink = by_handle.nNumberOfLinks;
  return 0;
}

}  // namespace runnel
