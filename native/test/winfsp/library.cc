// The functions of winfsp-x64.dll that a file system calls. The first that makes one begins to listen for programs.
#include "library.h"

#include <cstring>

#include "port.h"

using runnel::test::Driver;

namespace {

thread_local FSP_FILE_SYSTEM_OPERATION_CONTEXT context;

constexpr UINT32 kVersion = 2u << 16 | 1;

// A link at this character of the path: what it leads to in its place. False when it cannot be followed.
bool Follow(std::wstring* path, size_t at, const std::vector<uint8_t>& data) {
  if (data.size() < 20) return false;
  uint16_t offset = 0;
  uint16_t length = 0;
  memcpy(&offset, &data[8], sizeof(offset));
  memcpy(&length, &data[10], sizeof(length));
  std::wstring target(length / sizeof(WCHAR), L'\0');
  memcpy(target.data(), &data[20 + offset], length);
  const size_t end = std::min(path->find(L'\\', at), path->size());
  const std::wstring rest = path->substr(end);
  if (!target.empty() && target[0] == L'\\') {
    *path = target + rest;
    return true;
  }
  std::wstring before = path->substr(0, at - 1);
  while (target.rfind(L"..\\", 0) == 0) {
    if (before.empty()) return false;
    before.resize(before.rfind(L'\\'));
    target.erase(0, 3);
  }
  *path = before + L'\\' + target + rest;
  return true;
}

}  // namespace

namespace runnel::test {

void SetOperationContext(FSP_FSCTL_TRANSACT_REQ* request, FSP_FSCTL_TRANSACT_RSP* response) {
  context = {request, response};
}

void ReadDirBuffer(const void* buffer, ULONG size, std::vector<Listed>* names, uint64_t* next_offset, bool* is_whole) {
  const auto* at = static_cast<const uint8_t*>(buffer);
  for (const uint8_t* const end = at + size; at + sizeof(UINT16) <= end;) {
    const auto* item = reinterpret_cast<const FSP_FSCTL_DIR_INFO*>(at);
    if (item->Size == 0) {
      *is_whole = true;
      return;
    }
    names->push_back({{item->FileNameBuf, (item->Size - sizeof(*item)) / sizeof(WCHAR)}, item->FileInfo});
    *next_offset = item->NextOffset;
    at += FSP_FSCTL_DEFAULT_ALIGN_UP(item->Size);
  }
}

}  // namespace runnel::test

extern "C" {

// Node takes the library for an addon, so that a test may load it where no WinFsp is installed.
__declspec(dllexport) void* napi_register_module_v1(void*, void* exports) { return exports; }

FSP_API NTSTATUS FspVersion(PUINT32 version) {
  *version = kVersion;
  return STATUS_SUCCESS;
}

FSP_API NTSTATUS FspFileSystemCreate(PWSTR device, const FSP_FSCTL_VOLUME_PARAMS* params,
                                     const FSP_FILE_SYSTEM_INTERFACE* operations, FSP_FILE_SYSTEM** made) {
  if (!runnel::test::Listen()) return STATUS_DEVICE_NOT_READY;
  return Driver::Create(device, params, operations, made);
}

FSP_API VOID FspFileSystemDelete(FSP_FILE_SYSTEM* file_system) { Driver::Of(file_system).Delete(file_system); }

FSP_API NTSTATUS FspFileSystemSetMountPoint(FSP_FILE_SYSTEM* file_system, PWSTR mountpoint) {
  return Driver::Of(file_system).Mount(mountpoint);
}

FSP_API VOID FspFileSystemRemoveMountPoint(FSP_FILE_SYSTEM* file_system) { Driver::Of(file_system).Unmount(); }

FSP_API NTSTATUS FspFileSystemStartDispatcher(FSP_FILE_SYSTEM* file_system, ULONG threads) {
  return Driver::Of(file_system).Start(threads);
}

FSP_API VOID FspFileSystemStopDispatcher(FSP_FILE_SYSTEM* file_system) { Driver::Of(file_system).Stop(true); }

FSP_API VOID FspFileSystemSendResponse(FSP_FILE_SYSTEM* file_system, FSP_FSCTL_TRANSACT_RSP* response) {
  Driver::Of(file_system).TakeResponse(response);
}

// Every other time as if a rename were under way.
FSP_API NTSTATUS FspFileSystemNotifyBegin(FSP_FILE_SYSTEM*, ULONG) {
  static bool is_renaming = false;
  is_renaming = !is_renaming;
  return is_renaming ? STATUS_CANT_WAIT : STATUS_SUCCESS;
}

FSP_API NTSTATUS FspFileSystemNotify(FSP_FILE_SYSTEM* file_system, FSP_FSCTL_NOTIFY_INFO* info, SIZE_T size) {
  Driver::Of(file_system).TakeNotifications(info, size);
  return STATUS_SUCCESS;
}

FSP_API NTSTATUS FspFileSystemNotifyEnd(FSP_FILE_SYSTEM*) { return STATUS_SUCCESS; }

FSP_API FSP_FILE_SYSTEM_OPERATION_CONTEXT* FspFileSystemGetOperationContext(VOID) { return &context; }

FSP_API NTSTATUS FspFileSystemOpEnter(FSP_FILE_SYSTEM*, FSP_FSCTL_TRANSACT_REQ*, FSP_FSCTL_TRANSACT_RSP*) {
  return STATUS_SUCCESS;
}

FSP_API NTSTATUS FspFileSystemOpLeave(FSP_FILE_SYSTEM*, FSP_FSCTL_TRANSACT_REQ*, FSP_FSCTL_TRANSACT_RSP*) {
  return STATUS_SUCCESS;
}

FSP_API BOOLEAN FspFileSystemAddDirInfo(FSP_FSCTL_DIR_INFO* item, PVOID buffer, ULONG length, PULONG used) {
  const UINT16 end = 0;
  const void* const from = item == nullptr ? static_cast<const void*>(&end) : item;
  const ULONG size = item == nullptr ? sizeof(end) : item->Size;
  const ULONG room = item == nullptr ? size : static_cast<ULONG>(FSP_FSCTL_DEFAULT_ALIGN_UP(size));
  if (*used + room > length) return FALSE;
  memcpy(static_cast<uint8_t*>(buffer) + *used, from, size);
  *used += room;
  return TRUE;
}

FSP_API NTSTATUS FspFileSystemResolveReparsePoints(
    FSP_FILE_SYSTEM* file_system, NTSTATUS (*get)(FSP_FILE_SYSTEM*, PVOID, PWSTR, BOOLEAN, PVOID, PSIZE_T), PVOID user,
    PWSTR name, UINT32 index, BOOLEAN resolves_last, PIO_STATUS_BLOCK status, PVOID buffer, PSIZE_T size) {
  std::wstring path = name;
  size_t at = index;
  for (int links = 0; at < path.size();) {
    const size_t end = std::min(path.find(L'\\', at), path.size());
    if (end == path.size() && !resolves_last) break;
    std::wstring prefix = path.substr(0, end);
    std::vector<uint8_t> data(MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
    SIZE_T bytes = data.size();
    const NTSTATUS got = get(file_system, user, prefix.data(), end < path.size(), data.data(), &bytes);
    if (got == STATUS_SUCCESS) {
      data.resize(bytes);
      if (++links > 32 || !Follow(&path, at, data)) return STATUS_REPARSE_POINT_NOT_RESOLVED;
      at = 1;
      continue;
    }
    if (got != STATUS_NOT_A_REPARSE_POINT && got != STATUS_OBJECT_NAME_NOT_FOUND) return got;
    at = end + 1;
  }
  if (path.size() * sizeof(WCHAR) > *size) return STATUS_BUFFER_TOO_SMALL;
  *size = path.size() * sizeof(WCHAR);
  memcpy(buffer, path.data(), *size);
  status->Status = STATUS_REPARSE;
  status->Information = 0;  // IO_REPARSE
  return STATUS_REPARSE;
}

}  // extern "C"
