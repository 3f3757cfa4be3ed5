// Callbacks for what is open: bytes, sizes, times, rights.
#include <algorithm>
#include <cstring>

#include "nt_status.h"
#include "results.h"
#include "src/file/windows/calls.h"
#include "winfsp_ops.h"

namespace runnel::drive {
namespace {

constexpr uint32_t kWriteBits = 0222;
constexpr uint32_t kOwnerWrites = 0200;
constexpr uint32_t kPermissionMask = 07777;

NTSTATUS Set(WinfspFront& front, const Opened& opened, const SetAttributes& set, FSP_FSCTL_FILE_INFO* info) {
  const Result result = Await(front.core(), &DriveCore::SetAttributesOf, opened.id, opened.handle, set);
  if (result.error != Kind::kNone) return ToNtStatus(result.error);
  if (info != nullptr) FillInfo(result.entry.attributes, info);
  return STATUS_SUCCESS;
}

SetAttributes SizeOf(uint64_t size_bytes) {
  SetAttributes set;
  set.set = Message::kSize;
  set.size_bytes = size_bytes;
  return set;
}

// The attribute "read-only" is that nobody may write.
void SetReadOnly(uint32_t mode, bool is_read_only, SetAttributes* set) {
  const bool is_already = (mode & kWriteBits) == 0;
  if (is_already == is_read_only) return;
  set->set |= Message::kMode;
  set->mode = (is_read_only ? mode & ~kWriteBits : mode | kOwnerWrites) & kPermissionMask;
}

}  // namespace

NTSTATUS OpOverwrite(FSP_FILE_SYSTEM* file_system, PVOID context, UINT32, BOOLEAN, UINT64, FSP_FSCTL_FILE_INFO* info) {
  return Set(FrontOf(file_system), *OpenedOf(context), SizeOf(0), info);
}

NTSTATUS OpRead(FSP_FILE_SYSTEM* file_system, PVOID context, PVOID buffer, UINT64 offset, ULONG length,
                PULONG transferred) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  if (opened.handle == nullptr) return STATUS_ACCESS_DENIED;
  const auto reply = std::make_shared<ReadReply>(front.api(), file_system, buffer, length);
  front.core().Read(reply, opened.handle, offset, length);
  return reply->Return(transferred);
}

NTSTATUS OpWrite(FSP_FILE_SYSTEM* file_system, PVOID context, PVOID buffer, UINT64 offset, ULONG length, BOOLEAN at_end,
                 BOOLEAN keeps_size, PULONG transferred, FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  *transferred = 0;
  if (front.is_read_only()) return STATUS_MEDIA_WRITE_PROTECTED;
  if (opened.handle == nullptr || !opened.handle->can_write) return STATUS_ACCESS_DENIED;
  if (at_end || keeps_size) {
    const Result now = AttributesOf(front, opened);
    if (now.error != Kind::kNone) return ToNtStatus(now.error);
    const uint64_t size = now.entry.attributes.size_bytes;
    if (at_end) offset = size;
    // Pages of a mapping, which may reach past the end.
    if (keeps_size) length = static_cast<ULONG>(offset >= size ? 0 : std::min<uint64_t>(length, size - offset));
  }
  if (length > 0) {
    const Result written =
        Await(front.core(), &DriveCore::Write, opened.handle, offset, static_cast<const char*>(buffer), length, false);
    if (written.error != Kind::kNone) return ToNtStatus(written.error);
    *transferred = static_cast<ULONG>(written.written);
  }
  return GetInfo(front, opened, info);
}

NTSTATUS OpFlush(FSP_FILE_SYSTEM* file_system, PVOID context, FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  if (context == nullptr) {       // the whole volume: nobody waits for it
    front.core().CommitDirty(0);  // no ticket of the agent's
    return STATUS_SUCCESS;
  }
  const Opened& opened = *OpenedOf(context);
  if (opened.handle != nullptr) {
    const Result saved = Await(front.core(), &DriveCore::Fsync, opened.handle);
    if (saved.error != Kind::kNone) return ToNtStatus(saved.error);
  }
  return GetInfo(front, opened, info);
}

NTSTATUS OpGetFileInfo(FSP_FILE_SYSTEM* file_system, PVOID context, FSP_FSCTL_FILE_INFO* info) {
  return GetInfo(FrontOf(file_system), *OpenedOf(context), info);
}

// A volume keeps no times of creation; that of a change of attributes is its own.
NTSTATUS OpSetBasicInfo(FSP_FILE_SYSTEM* file_system, PVOID context, UINT32 attributes, UINT64, UINT64 access,
                        UINT64 write, UINT64, FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  SetAttributes set;
  if (write != 0) {
    set.set |= Message::kMtime;
    set.mtime_ns = NanosecondsOf(static_cast<int64_t>(write));
  }
  if (access != 0) {
    set.sets_atime = true;
    set.atime_ns = NanosecondsOf(static_cast<int64_t>(access));
  }
  if (attributes != INVALID_FILE_ATTRIBUTES && !opened.is_folder) {
    const Result now = AttributesOf(front, opened);
    if (now.error != Kind::kNone) return ToNtStatus(now.error);
    SetReadOnly(now.entry.attributes.mode, (attributes & FILE_ATTRIBUTE_READONLY) != 0, &set);
  }
  if (set.set == 0 && !set.sets_atime) return GetInfo(front, opened, info);
  return Set(front, opened, set, info);
}

// Space is taken by what is written; taking it beforehand changes nothing.
NTSTATUS OpSetFileSize(FSP_FILE_SYSTEM* file_system, PVOID context, UINT64 size, BOOLEAN is_allocation,
                       FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  if (is_allocation) {
    const Result now = AttributesOf(front, opened);
    if (now.error != Kind::kNone) return ToNtStatus(now.error);
    if (size >= now.entry.attributes.size_bytes) {
      FillInfo(now.entry.attributes, info);
      return STATUS_SUCCESS;
    }
  }
  return size > kFileBytesMax ? STATUS_FILE_TOO_LARGE : Set(front, opened, SizeOf(size), info);
}

NTSTATUS OpGetSecurity(FSP_FILE_SYSTEM* file_system, PVOID context, PSECURITY_DESCRIPTOR descriptor, SIZE_T* size) {
  WinfspFront& front = FrontOf(file_system);
  const Result now = AttributesOf(front, *OpenedOf(context));
  if (now.error != Kind::kNone) return ToNtStatus(now.error);
  const Bytes bytes = DescriptorOf(now.entry.attributes, front.person());
  const bool has_room = bytes.size() <= *size;
  *size = bytes.size();
  if (!has_room) return STATUS_BUFFER_OVERFLOW;
  if (descriptor != nullptr) memcpy(descriptor, bytes.data(), bytes.size());
  return STATUS_SUCCESS;
}

NTSTATUS OpSetSecurity(FSP_FILE_SYSTEM* file_system, PVOID context, SECURITY_INFORMATION information,
                       PSECURITY_DESCRIPTOR descriptor) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  const Result now = AttributesOf(front, opened);
  if (now.error != Kind::kNone) return ToNtStatus(now.error);
  const Attributes& before = now.entry.attributes;
  const Ownership after = OwnershipAfter(before, information, descriptor, front.person());
  SetAttributes set;
  if (after.mode != (before.mode & kPermissionMask)) set.set |= Message::kMode;
  if (after.uid != before.uid) set.set |= Message::kUid;
  if (after.gid != before.gid) set.set |= Message::kGid;
  if (set.set == 0) return STATUS_SUCCESS;
  set.mode = after.mode;
  set.uid = after.uid;
  set.gid = after.gid;
  return Set(front, opened, set, nullptr);
}

}  // namespace runnel::drive
