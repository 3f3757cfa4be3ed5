// WinFsp's callbacks: each turns a request of Windows into calls of the core. They run on WinFsp's threads, any number
// at a time.
//
// Who creates, opens, renames or removes is checked by WinFsp before, against what GetSecurityByName says; share modes
// and locks are its driver's. A file is saved when its last handle of a program is closed (Cleanup), which waits for it
// but cannot say that it failed, and when a program flushes it (Flush), which can. What is written later, through a
// mapping, is saved at Close.
#ifndef RUNNEL_DRIVE_WINFSP_WINFSP_OPS_H_
#define RUNNEL_DRIVE_WINFSP_WINFSP_OPS_H_

#include <string_view>

#include "results.h"
#include "walk.h"
#include "winfsp_front.h"

namespace runnel::drive {

// Returns the front of a file system whose UserContext it is.
const FSP_FILE_SYSTEM_INTERFACE& WinfspOps();

inline WinfspFront& FrontOf(FSP_FILE_SYSTEM* file_system) {
  return *static_cast<WinfspFront*>(file_system->UserContext);
}
inline Opened* OpenedOf(void* context) { return static_cast<Opened*>(context); }

// Runs what looks names up, and once more when a name led elsewhere meanwhile.
template <typename What>
NTSTATUS WithNames(What what) {
  const NTSTATUS status = what();
  return status == STATUS_FILE_INVALID ? what() : status;
}

// The attributes of what is open there, as they are now.
NTSTATUS GetInfo(WinfspFront& front, const Opened& opened, FSP_FSCTL_FILE_INFO* info);
Result AttributesOf(WinfspFront& front, const Opened& opened);

// winfsp_names.cc
NTSTATUS OpGetSecurityByName(FSP_FILE_SYSTEM*, PWSTR name, PUINT32 attributes, PSECURITY_DESCRIPTOR descriptor,
                             SIZE_T* size);
NTSTATUS OpCreate(FSP_FILE_SYSTEM*, PWSTR name, UINT32 options, UINT32 access, UINT32 attributes, PSECURITY_DESCRIPTOR,
                  UINT64 allocation, PVOID* context, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpOpen(FSP_FILE_SYSTEM*, PWSTR name, UINT32 options, UINT32 access, PVOID* context, FSP_FSCTL_FILE_INFO* info);
VOID OpCleanup(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, ULONG flags);
VOID OpClose(FSP_FILE_SYSTEM*, PVOID context);
NTSTATUS OpCanDelete(FSP_FILE_SYSTEM*, PVOID context, PWSTR name);
NTSTATUS OpRename(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, PWSTR new_name, BOOLEAN replaces);

// winfsp_files.cc
NTSTATUS OpOverwrite(FSP_FILE_SYSTEM*, PVOID context, UINT32 attributes, BOOLEAN replaces_attributes, UINT64 allocation,
                     FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpRead(FSP_FILE_SYSTEM*, PVOID context, PVOID buffer, UINT64 offset, ULONG length, PULONG transferred);
NTSTATUS OpWrite(FSP_FILE_SYSTEM*, PVOID context, PVOID buffer, UINT64 offset, ULONG length, BOOLEAN at_end,
                 BOOLEAN keeps_size, PULONG transferred, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpFlush(FSP_FILE_SYSTEM*, PVOID context, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpGetFileInfo(FSP_FILE_SYSTEM*, PVOID context, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpSetBasicInfo(FSP_FILE_SYSTEM*, PVOID context, UINT32 attributes, UINT64 creation, UINT64 access,
                        UINT64 write, UINT64 change, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpSetFileSize(FSP_FILE_SYSTEM*, PVOID context, UINT64 size, BOOLEAN is_allocation, FSP_FSCTL_FILE_INFO* info);
NTSTATUS OpGetSecurity(FSP_FILE_SYSTEM*, PVOID context, PSECURITY_DESCRIPTOR descriptor, SIZE_T* size);
NTSTATUS OpSetSecurity(FSP_FILE_SYSTEM*, PVOID context, SECURITY_INFORMATION information,
                       PSECURITY_DESCRIPTOR descriptor);

// winfsp_folders.cc
NTSTATUS OpGetVolumeInfo(FSP_FILE_SYSTEM*, FSP_FSCTL_VOLUME_INFO* info);
NTSTATUS OpReadDirectory(FSP_FILE_SYSTEM*, PVOID context, PWSTR pattern, PWSTR marker, PVOID buffer, ULONG length,
                         PULONG transferred);
NTSTATUS OpGetDirInfoByName(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, FSP_FSCTL_DIR_INFO* info);

// winfsp_links.cc
NTSTATUS OpResolveReparsePoints(FSP_FILE_SYSTEM*, PWSTR name, UINT32 index, BOOLEAN resolves_last,
                                PIO_STATUS_BLOCK status, PVOID buffer, PSIZE_T size);
NTSTATUS OpGetReparsePoint(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, PVOID buffer, PSIZE_T size);
NTSTATUS OpSetReparsePoint(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, PVOID buffer, SIZE_T size);
NTSTATUS OpDeleteReparsePoint(FSP_FILE_SYSTEM*, PVOID context, PWSTR name, PVOID buffer, SIZE_T size);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_WINFSP_OPS_H_
