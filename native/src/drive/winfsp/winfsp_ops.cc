#include "winfsp_ops.h"

#include "nt_status.h"
#include "results.h"

namespace runnel::drive {
namespace {

VOID OpDispatcherStopped(FSP_FILE_SYSTEM* file_system, BOOLEAN is_by_us) {
  if (!is_by_us) FrontOf(file_system).OnEndedOutside();
}

FSP_FILE_SYSTEM_INTERFACE MakeOps() {
  FSP_FILE_SYSTEM_INTERFACE ops = {};
  ops.GetVolumeInfo = OpGetVolumeInfo;
  ops.GetSecurityByName = OpGetSecurityByName;
  ops.Create = OpCreate;
  ops.Open = OpOpen;
  ops.Overwrite = OpOverwrite;
  ops.Cleanup = OpCleanup;
  ops.Close = OpClose;
  ops.Read = OpRead;
  ops.Write = OpWrite;
  ops.Flush = OpFlush;
  ops.GetFileInfo = OpGetFileInfo;
  ops.SetBasicInfo = OpSetBasicInfo;
  ops.SetFileSize = OpSetFileSize;
  ops.CanDelete = OpCanDelete;
  ops.Rename = OpRename;
  ops.GetSecurity = OpGetSecurity;
  ops.SetSecurity = OpSetSecurity;
  ops.ReadDirectory = OpReadDirectory;
  ops.ResolveReparsePoints = OpResolveReparsePoints;
  ops.GetReparsePoint = OpGetReparsePoint;
  ops.SetReparsePoint = OpSetReparsePoint;
  ops.DeleteReparsePoint = OpDeleteReparsePoint;
  ops.GetDirInfoByName = OpGetDirInfoByName;
  ops.DispatcherStopped = OpDispatcherStopped;
  return ops;
}

}  // namespace

const FSP_FILE_SYSTEM_INTERFACE& WinfspOps() {
  static const FSP_FILE_SYSTEM_INTERFACE ops = MakeOps();
  return ops;
}

Result AttributesOf(WinfspFront& front, const Opened& opened) {
  return Await(front.core(), &DriveCore::GetAttributes, opened.id);
}

NTSTATUS GetInfo(WinfspFront& front, const Opened& opened, FSP_FSCTL_FILE_INFO* info) {
  const Result result = AttributesOf(front, opened);
  if (result.error != Kind::kNone) return ToNtStatus(result.error);
  FillInfo(result.entry.attributes, info);
  return STATUS_SUCCESS;
}

}  // namespace runnel::drive
