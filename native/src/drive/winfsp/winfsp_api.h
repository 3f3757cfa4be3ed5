// WinFsp's library, found at run time, so that drive.node loads where WinFsp is not installed. The headers are of
// WinFsp 2.1 (from the crate winfsp-sys); any WinFsp 2 will do.
#ifndef RUNNEL_DRIVE_WINFSP_WINFSP_API_H_
#define RUNNEL_DRIVE_WINFSP_WINFSP_API_H_

#include <string>

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
// The headers declare what is a macro of the C library here.
#pragma push_macro("_ReadWriteBarrier")
#undef _ReadWriteBarrier
#include <winfsp/winfsp.h>
#pragma pop_macro("_ReadWriteBarrier")

namespace runnel::drive {

// The functions that are called, by the names that the library exports.
struct WinFspApi {
  decltype(&FspVersion) Version;
  decltype(&FspFileSystemCreate) Create;
  decltype(&FspFileSystemDelete) Delete;
  decltype(&FspFileSystemSetMountPoint) SetMountPoint;
  decltype(&FspFileSystemRemoveMountPoint) RemoveMountPoint;
  decltype(&FspFileSystemStartDispatcher) StartDispatcher;
  decltype(&FspFileSystemStopDispatcher) StopDispatcher;
  decltype(&FspFileSystemSendResponse) SendResponse;
  decltype(&FspFileSystemNotifyBegin) NotifyBegin;
  decltype(&FspFileSystemNotify) Notify;
  decltype(&FspFileSystemNotifyEnd) NotifyEnd;
  decltype(&FspFileSystemGetOperationContext) GetOperationContext;
  decltype(&FspFileSystemAddDirInfo) AddDirInfo;
  decltype(&FspFileSystemResolveReparsePoints) ResolveReparsePoints;
};

// Loads the library once a process. nullptr and a sentence for a person when it is not there, or too old.
const WinFspApi* LoadWinFsp(std::string* problem);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_WINFSP_API_H_
