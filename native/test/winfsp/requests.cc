// The requests of programs, one by one.
#include "library.h"

#include <sddl.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace runnel::test {
namespace {

constexpr UINT32 kReparse = FILE_ATTRIBUTE_REPARSE_POINT;
constexpr ULONG kPageBytes = 16 * 1024;
constexpr int kLinksMax = 32;

// Handles are of all drives: none of one drive's is taken for another's.
std::atomic<int64_t> next_handle = 1;

std::wstring FolderOf(const std::wstring& path) {
  const size_t slash = path.rfind(L'\\');
  return slash == 0 || slash == std::wstring::npos ? L"\\" : path.substr(0, slash);
}

HANDLE OwnToken() {
  static const HANDLE token = [] {
    HANDLE process = nullptr;
    HANDLE own = nullptr;
    OpenProcessToken(GetCurrentProcess(), TOKEN_DUPLICATE | TOKEN_QUERY, &process);
    DuplicateToken(process, SecurityImpersonation, &own);
    return own;
  }();
  return token;
}

bool IsAllowed(PSECURITY_DESCRIPTOR descriptor, UINT32 access) {
  GENERIC_MAPPING mapping = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
  PRIVILEGE_SET privileges[4] = {};
  DWORD size = sizeof(privileges);
  DWORD granted = 0;
  BOOL is_allowed = FALSE;
  return AccessCheck(descriptor, OwnToken(), access, &mapping, privileges, &size, &granted, &is_allowed) && is_allowed;
}

StandInReply Failed(NTSTATUS status) {
  StandInReply told;
  told.status = status;
  return told;
}

}  // namespace

NTSTATUS Driver::Check(std::wstring path, UINT32 access, UINT32 options, bool checks_folder, UINT32* link_at) {
  if (checks_folder) path = FolderOf(path);
  std::vector<uint64_t> descriptor(512);
  SIZE_T size = descriptor.size() * sizeof(uint64_t);
  UINT32 attributes = 0;
  const NTSTATUS status =
      Operations().GetSecurityByName(FileSystem(), path.data(), &attributes, descriptor.data(), &size);
  *link_at = attributes;
  if (status != STATUS_SUCCESS) return status;
  if ((attributes & kReparse) != 0 && (checks_folder || (options & FILE_OPEN_REPARSE_POINT) == 0)) {
    *link_at = static_cast<UINT32>(path.rfind(L'\\') + 1);
    return STATUS_REPARSE;
  }
  if (!IsValidSecurityDescriptor(descriptor.data())) return STATUS_INVALID_SECURITY_DESCR;
  if (access == 0 || IsAllowed(descriptor.data(), access)) return STATUS_SUCCESS;
  // The folder may allow what the file does not.
  if ((access & DELETE) == 0 || checks_folder) return STATUS_ACCESS_DENIED;
  UINT32 unused = 0;
  if (Check(path, FILE_DELETE_CHILD, 0, true, &unused) != STATUS_SUCCESS) return STATUS_ACCESS_DENIED;
  const UINT32 rest = access & ~static_cast<UINT32>(DELETE);
  return rest == 0 || IsAllowed(descriptor.data(), rest) ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
}

NTSTATUS Driver::OpenOnce(const Asked& asked, std::wstring* path, StandInReply* told) {
  const UINT32 options = asked.options | asked.disposition << 24;
  const bool overwrites = asked.disposition == FILE_OVERWRITE || asked.disposition == FILE_OVERWRITE_IF;
  const bool may_make =
      asked.disposition == FILE_CREATE || asked.disposition == FILE_OPEN_IF || asked.disposition == FILE_OVERWRITE_IF;
  UINT32 link_at = 0;
  NTSTATUS status = STATUS_OBJECT_NAME_NOT_FOUND;
  void* context = nullptr;
  std::vector<WCHAR> normalized(1024);
  FSP_FSCTL_OPEN_FILE_INFO info = {};
  info.NormalizedName = normalized.data();
  info.NormalizedNameSize = static_cast<UINT16>(normalized.size() * sizeof(WCHAR));
  const bool deletes_on_close = (asked.options & FILE_DELETE_ON_CLOSE) != 0;
  // The system itself refuses this.
  if (deletes_on_close && (asked.access & DELETE) == 0) return STATUS_INVALID_PARAMETER;
  UINT32 granted = asked.access;
  if (asked.disposition != FILE_CREATE) {
    status = Check(*path, asked.access | (overwrites ? FILE_WRITE_DATA : 0), asked.options, false, &link_at);
    // Without an error link_at has the attributes.
    if (status == STATUS_SUCCESS && deletes_on_close && (link_at & FILE_ATTRIBUTE_READONLY) != 0)
      return STATUS_CANNOT_DELETE;
    if (status == STATUS_SUCCESS)
      status = Operations().Open(FileSystem(), path->data(), options, granted, &context, &info.FileInfo);
    if (status == STATUS_SUCCESS && overwrites) {
      status = Operations().Overwrite(FileSystem(), context, asked.attributes, FALSE, 0, &info.FileInfo);
      if (status != STATUS_SUCCESS) Operations().Close(FileSystem(), context);
    }
  }
  if (status == STATUS_OBJECT_NAME_NOT_FOUND && may_make) {
    const UINT32 needed = (asked.options & FILE_DIRECTORY_FILE) != 0 ? FILE_ADD_SUBDIRECTORY : FILE_ADD_FILE;
    status = Check(*path, needed, asked.options, true, &link_at);
    if (status == STATUS_SUCCESS) {
      status = Operations().Create(FileSystem(), path->data(), options, granted, asked.attributes, nullptr, 0, &context,
                                   &info.FileInfo);
    }
  }
  if (status == STATUS_REPARSE) {
    IO_STATUS_BLOCK io = {};
    SIZE_T size = normalized.size() * sizeof(WCHAR);
    const bool resolves_last = (asked.options & FILE_OPEN_REPARSE_POINT) == 0;
    status = Operations().ResolveReparsePoints(FileSystem(), path->data(), link_at, resolves_last, &io,
                                               normalized.data(), &size);
    if (status == STATUS_REPARSE) path->assign(normalized.data(), size / sizeof(WCHAR));
    return status;
  }
  if (status != STATUS_SUCCESS) return status;
  FileObject file;
  file.context = context;
  const bool is_normalized = info.NormalizedNameSize <= FSP_FSCTL_TRANSACT_PATH_SIZEMAX &&
                             info.NormalizedNameSize < normalized.size() * sizeof(WCHAR);
  file.path = is_normalized ? std::wstring(normalized.data(), info.NormalizedNameSize / sizeof(WCHAR)) : *path;
  file.access = granted;
  file.is_modified = overwrites;
  file.is_delete_pending = deletes_on_close;
  told->text = file.path;
  told->info = info.FileInfo;
  told->has_info = true;
  const std::lock_guard lock(mutex_);
  told->handle = next_handle++;
  files_[told->handle] = file;
  return STATUS_SUCCESS;
}

// The kernel begins anew with the path that a link has led to.
StandInReply Driver::OpenFile(const Asked& asked) {
  StandInReply told;
  std::wstring path = asked.path;
  for (int links = 0; links < kLinksMax; ++links) {
    told.status = OpenOnce(asked, &path, &told);
    if (told.status != STATUS_REPARSE) return told;
  }
  return Failed(STATUS_REPARSE_POINT_NOT_RESOLVED);
}

// All handles of a file object are closed. With PostCleanupWhenModifiedOnly, only a change or a removal is told of.
StandInReply Driver::Cleanup(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  if (!file->is_modified && !file->is_delete_pending && params_.PostCleanupWhenModifiedOnly) return {};
  std::wstring path = file->path;
  const ULONG flags = file->is_delete_pending ? FspCleanupDelete : FspCleanupSetLastWriteTime;
  Operations().Cleanup(FileSystem(), file->context, file->is_delete_pending ? path.data() : nullptr, flags);
  return {};
}

StandInReply Driver::CloseFile(const Asked& asked) {
  const StandInReply cleaned = Cleanup(asked);
  if (cleaned.status != STATUS_SUCCESS) return cleaned;
  Operations().Close(FileSystem(), Find(asked.handle)->context);
  const std::lock_guard lock(mutex_);
  files_.erase(asked.handle);
  return {};
}

StandInReply Driver::Read(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  told.bytes.resize(asked.size);
  ULONG count = 0;
  told.status = Transact(
      FspFsctlTransactReadKind,
      [&] {
        return Operations().Read(FileSystem(), file->context, told.bytes.data(), asked.offset,
                                 static_cast<ULONG>(asked.size), &count);
      },
      &count);
  told.bytes.resize(told.status == STATUS_SUCCESS ? count : 0);
  return told;
}

StandInReply Driver::Write(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  std::string bytes = asked.bytes;
  const uint64_t offset = asked.is_on ? UINT64_MAX : asked.offset;
  ULONG count = 0;
  const auto run = [&] {
    return Operations().Write(FileSystem(), file->context, bytes.data(), offset, static_cast<ULONG>(bytes.size()),
                              asked.is_on, FALSE, &count, &told.info);
  };
  told.status = Transact(FspFsctlTransactWriteKind, run, &count);
  told.has_info = told.status == STATUS_SUCCESS;
  told.handle = static_cast<int64_t>(count);
  file->is_modified = file->is_modified || told.has_info;
  return told;
}

StandInReply Driver::Flush(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  told.status = Operations().Flush(FileSystem(), file->context, &told.info);
  told.has_info = told.status == STATUS_SUCCESS;
  return told;
}

StandInReply Driver::GetInfo(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  told.status = Operations().GetFileInfo(FileSystem(), file->context, &told.info);
  told.has_info = told.status == STATUS_SUCCESS;
  return told;
}

StandInReply Driver::SetBasic(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  const UINT32 attributes = asked.attributes == 0 ? INVALID_FILE_ATTRIBUTES : asked.attributes;
  told.status =
      Operations().SetBasicInfo(FileSystem(), file->context, attributes, 0, asked.atime, asked.mtime, 0, &told.info);
  told.has_info = told.status == STATUS_SUCCESS;
  return told;
}

StandInReply Driver::SetSize(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  if ((file->access & FILE_WRITE_DATA) == 0) return Failed(STATUS_ACCESS_DENIED);
  StandInReply told;
  told.status = Operations().SetFileSize(FileSystem(), file->context, asked.size, asked.is_on, &told.info);
  told.has_info = told.status == STATUS_SUCCESS;
  file->is_modified = file->is_modified || told.has_info;
  return told;
}

StandInReply Driver::SetDisposition(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  if ((file->access & DELETE) == 0) return Failed(STATUS_ACCESS_DENIED);
  FSP_FSCTL_FILE_INFO info;
  NTSTATUS status = asked.is_on ? Operations().GetFileInfo(FileSystem(), file->context, &info) : STATUS_SUCCESS;
  if (asked.is_on && status == STATUS_SUCCESS && (info.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0)
    status = STATUS_CANNOT_DELETE;
  std::wstring path = file->path;
  if (asked.is_on && status == STATUS_SUCCESS)
    status = Operations().CanDelete(FileSystem(), file->context, path.data());
  if (status == STATUS_SUCCESS) file->is_delete_pending = asked.is_on;
  return Failed(status);
}

StandInReply Driver::Rename(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  if ((file->access & DELETE) == 0) return Failed(STATUS_ACCESS_DENIED);
  std::wstring from = file->path;
  std::wstring to = asked.to;
  UINT32 unused = 0;
  if (asked.is_on) {
    const NTSTATUS replaced = Check(to, DELETE, FILE_OPEN_REPARSE_POINT, false, &unused);
    const bool is_fine =
        replaced == STATUS_SUCCESS || replaced == STATUS_OBJECT_NAME_NOT_FOUND || replaced == STATUS_REPARSE;
    if (!is_fine) return Failed(replaced);
  }
  const NTSTATUS status = Operations().Rename(FileSystem(), file->context, from.data(), to.data(), asked.is_on);
  if (status != STATUS_SUCCESS) return Failed(status);
  const std::lock_guard lock(mutex_);
  for (auto& [handle, other] : files_) {
    const bool is_below =
        other.path.rfind(from, 0) == 0 && (other.path.size() == from.size() || other.path[from.size()] == L'\\');
    if (is_below) other.path.replace(0, from.size(), to);
  }
  return {};
}

StandInReply Driver::List(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  std::vector<uint64_t> buffer(kPageBytes / sizeof(uint64_t));
  uint64_t marker[2] = {0, 0};
  bool is_whole = false;
  for (bool is_first = true; !is_whole; is_first = false) {
    ULONG count = 0;
    PWSTR from = is_first ? nullptr : reinterpret_cast<PWSTR>(marker);
    const auto run = [&] {
      return Operations().ReadDirectory(FileSystem(), file->context, nullptr, from, buffer.data(), kPageBytes, &count);
    };
    told.status = Transact(FspFsctlTransactQueryDirectoryKind, run, &count);
    if (told.status != STATUS_SUCCESS || count == 0) break;
    ReadDirBuffer(buffer.data(), count, &told.names, &marker[0], &is_whole);
  }
  return told;
}

StandInReply Driver::DirInfo(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  std::vector<uint64_t> room((sizeof(FSP_FSCTL_DIR_INFO) + 255 * sizeof(WCHAR)) / sizeof(uint64_t) + 1);
  auto* item = reinterpret_cast<FSP_FSCTL_DIR_INFO*>(room.data());
  std::wstring name = asked.path;
  told.status = Operations().GetDirInfoByName(FileSystem(), file->context, name.data(), item);
  if (told.status != STATUS_SUCCESS) return told;
  told.names.push_back({{item->FileNameBuf, (item->Size - sizeof(*item)) / sizeof(WCHAR)}, item->FileInfo});
  return told;
}

StandInReply Driver::GetSecurity(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  SIZE_T size = 4;
  if (Operations().GetSecurity(FileSystem(), file->context, nullptr, &size) != STATUS_BUFFER_OVERFLOW)
    return Failed(STATUS_INTERNAL_ERROR);
  std::vector<uint64_t> descriptor(size / sizeof(uint64_t) + 1);
  told.status = Operations().GetSecurity(FileSystem(), file->context, descriptor.data(), &size);
  LPWSTR text = nullptr;
  constexpr SECURITY_INFORMATION kAll =
      OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
  if (told.status != STATUS_SUCCESS) return told;
  if (!ConvertSecurityDescriptorToStringSecurityDescriptorW(descriptor.data(), SDDL_REVISION_1, kAll, &text, nullptr)) {
    return Failed(STATUS_INVALID_SECURITY_DESCR);
  }
  told.text = text;
  LocalFree(text);
  return told;
}

StandInReply Driver::SetSecurity(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(asked.to.c_str(), SDDL_REVISION_1, &descriptor, nullptr)) {
    return Failed(STATUS_INVALID_SECURITY_DESCR);
  }
  SECURITY_INFORMATION information = 0;
  if (asked.to.find(L"O:") != std::wstring::npos) information |= OWNER_SECURITY_INFORMATION;
  if (asked.to.find(L"G:") != std::wstring::npos) information |= GROUP_SECURITY_INFORMATION;
  if (asked.to.find(L"D:") != std::wstring::npos) information |= DACL_SECURITY_INFORMATION;
  const NTSTATUS status = Operations().SetSecurity(FileSystem(), file->context, information, descriptor);
  LocalFree(descriptor);
  return Failed(status);
}

StandInReply Driver::GetLink(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  StandInReply told;
  told.bytes.resize(MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
  SIZE_T size = told.bytes.size();
  std::wstring path = file->path;
  told.status = Operations().GetReparsePoint(FileSystem(), file->context, path.data(), told.bytes.data(), &size);
  if (told.status != STATUS_SUCCESS) return told;
  uint16_t offset = 0;
  uint16_t length = 0;
  memcpy(&offset, &told.bytes[12], sizeof(offset));  // of the name that is shown
  memcpy(&length, &told.bytes[14], sizeof(length));
  told.text.resize(length / sizeof(WCHAR));
  memcpy(told.text.data(), &told.bytes[20 + offset], length);
  return told;
}

StandInReply Driver::SetLink(const Asked& asked) {
  FileObject* file = Find(asked.handle);
  if (file == nullptr) return Failed(STATUS_INVALID_HANDLE);
  const uint16_t bytes = static_cast<uint16_t>(asked.to.size() * sizeof(WCHAR));
  std::vector<uint8_t> data(20 + 2 * bytes);
  const uint32_t tag = IO_REPARSE_TAG_SYMLINK;
  const uint16_t lengths[] = {static_cast<uint16_t>(data.size() - 8), 0, 0, bytes, bytes, bytes};
  const uint32_t flags = SYMLINK_FLAG_RELATIVE;
  memcpy(&data[0], &tag, sizeof(tag));
  memcpy(&data[4], lengths, sizeof(lengths));
  memcpy(&data[16], &flags, sizeof(flags));
  memcpy(&data[20], asked.to.data(), bytes);
  memcpy(&data[20 + bytes], asked.to.data(), bytes);
  std::wstring path = file->path;
  return Failed(Operations().SetReparsePoint(FileSystem(), file->context, path.data(), data.data(), data.size()));
}

StandInReply Driver::GetVolume(const Asked&) {
  StandInReply told;
  told.status = Operations().GetVolumeInfo(FileSystem(), &told.volume);
  return told;
}

}  // namespace runnel::test
