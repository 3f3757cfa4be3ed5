// Callbacks for folders and the volume.
#include <algorithm>
#include <cstring>

#include "nt_status.h"
#include "results.h"
#include "winfsp_ops.h"

namespace runnel::drive {

NTSTATUS OpGetVolumeInfo(FSP_FILE_SYSTEM* file_system, FSP_FSCTL_VOLUME_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const Result result = Await(front.core(), &DriveCore::StatFilesystem);
  if (result.error != Kind::kNone) return ToNtStatus(result.error);
  info->TotalSize = result.space.total_bytes;
  info->FreeSize = result.space.available_bytes;
  const size_t count = std::min(front.label().size(), std::size(info->VolumeLabel));
  memcpy(info->VolumeLabel, front.label().data(), count * sizeof(wchar_t));
  info->VolumeLabelLength = static_cast<UINT16>(count * sizeof(wchar_t));
  return STATUS_SUCCESS;
}

// The marker is where the last page ended, as FolderReply has told (DirectoryMarkerAsNextOffset).
NTSTATUS OpReadDirectory(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR, PWSTR marker, PVOID buffer, ULONG length,
                         PULONG transferred) {
  WinfspFront& front = FrontOf(file_system);
  Opened& opened = *OpenedOf(context);
  uint64_t offset = 0;
  if (marker != nullptr) memcpy(&offset, marker, sizeof(offset));
  {
    const std::lock_guard lock(opened.mutex);
    if (opened.folder == nullptr) {
      const Result result = Await(front.core(), &DriveCore::OpenFolder, opened.id);
      if (result.error != Kind::kNone) return ToNtStatus(result.error);
      opened.folder = result.folder;
    }
  }
  const auto reply =
      std::make_shared<FolderReply>(front.api(), file_system, buffer, length, &front.core(), opened.is_root);
  front.core().ReadFolder(reply, opened.folder, offset, length, true);
  return reply->Return(transferred);
}

NTSTATUS OpGetDirInfoByName(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR name, FSP_FSCTL_DIR_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place place;
    const NTSTATUS status = walk.In(opened.id, name, &place);
    if (status != STATUS_SUCCESS) return status;
    const size_t bytes = place.last.wide.size() * sizeof(wchar_t);
    info->Size = static_cast<UINT16>(sizeof(*info) + bytes);
    FillInfo(place.attributes, &info->FileInfo);
    memcpy(info->FileNameBuf, place.last.wide.data(), bytes);
    return STATUS_SUCCESS;
  });
}

}  // namespace runnel::drive
