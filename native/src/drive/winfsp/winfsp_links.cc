// Symlinks, as Windows' reparse points. Those of a volume lead on with '/', and from the volume's top when they begin
// with one; here both are relative links of Windows, the latter to the drive's top.
#include <algorithm>
#include <cstring>

#include "names.h"
#include "nt_status.h"
#include "results.h"
#include "src/file/windows/calls.h"
#include "winfsp_ops.h"

namespace runnel::drive {
namespace {

// The beginning of REPARSE_DATA_BUFFER for a symlink (ntifs.h); two names follow, to which the offsets count from
// there.
struct LinkHead {
  ULONG tag;
  USHORT data_length;  // of what follows `reserved`
  USHORT reserved;
  USHORT substitute_offset;
  USHORT substitute_length;
  USHORT print_offset;
  USHORT print_length;
  ULONG flags;
};
constexpr size_t kHeadBytes = sizeof(LinkHead);
static_assert(kHeadBytes == 20);
constexpr size_t kTagBytes = 8;

bool TargetOf(std::string_view target, std::wstring* wide) {
  if (!ToUtf16(target, wide)) return false;
  std::replace(wide->begin(), wide->end(), L'/', L'\\');
  return true;
}

// The target twice, since one of them is for showing.
NTSTATUS PutLink(const std::wstring& target, void* buffer, SIZE_T* size) {
  const size_t bytes = target.size() * sizeof(wchar_t);
  const size_t needed = kHeadBytes + 2 * bytes;
  if (needed > MAXIMUM_REPARSE_DATA_BUFFER_SIZE || (buffer != nullptr && needed > *size))
    return STATUS_BUFFER_TOO_SMALL;
  *size = needed;
  if (buffer == nullptr) return STATUS_SUCCESS;
  LinkHead head = {};
  head.tag = IO_REPARSE_TAG_SYMLINK;
  head.data_length = static_cast<USHORT>(needed - kTagBytes);
  head.substitute_length = static_cast<USHORT>(bytes);
  head.print_offset = static_cast<USHORT>(bytes);
  head.print_length = static_cast<USHORT>(bytes);
  head.flags = SYMLINK_FLAG_RELATIVE;
  memcpy(buffer, &head, kHeadBytes);
  memcpy(static_cast<char*>(buffer) + kHeadBytes, target.data(), bytes);
  memcpy(static_cast<char*>(buffer) + kHeadBytes + bytes, target.data(), bytes);
  return STATUS_SUCCESS;
}

NTSTATUS LinkOf(WinfspFront& front, uint64_t id, void* buffer, SIZE_T* size) {
  const Result result = Await(front.core(), &DriveCore::ReadLink, id);
  if (result.error != Kind::kNone) return ToNtStatus(result.error);
  std::wstring target;
  return TargetOf(result.text, &target) ? PutLink(target, buffer, size) : STATUS_IO_REPARSE_DATA_INVALID;
}

// Answers WinFsp's own way through the links; with no buffer, only whether there is one.
NTSTATUS LinkByName(FSP_FILE_SYSTEM* file_system, PVOID, PWSTR name, BOOLEAN, PVOID buffer, PSIZE_T size) {
  WinfspFront& front = FrontOf(file_system);
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place place;
    const NTSTATUS status = walk.To(name, &place);
    if (status != STATUS_SUCCESS) return status;
    if (TypeOf(place.attributes.mode) != FileType::kSymlink) return STATUS_NOT_A_REPARSE_POINT;
    return buffer == nullptr ? STATUS_SUCCESS : LinkOf(front, place.id, buffer, size);
  });
}

// False for what is no symlink, or one to another drive, which no other client could follow.
bool ReadTarget(const void* buffer, size_t size, std::string* target) {
  LinkHead head;
  if (size < kHeadBytes) return false;
  memcpy(&head, buffer, kHeadBytes);
  const size_t offset = kHeadBytes + head.substitute_offset;
  if (head.tag != IO_REPARSE_TAG_SYMLINK || (head.flags & SYMLINK_FLAG_RELATIVE) == 0 ||
      offset + head.substitute_length > size)
    return false;
  std::wstring wide(head.substitute_length / sizeof(wchar_t), L'\0');
  memcpy(wide.data(), static_cast<const char*>(buffer) + offset, wide.size() * sizeof(wchar_t));
  std::replace(wide.begin(), wide.end(), L'\\', L'/');
  return ToUtf8(wide, target);
}

}  // namespace

NTSTATUS OpResolveReparsePoints(FSP_FILE_SYSTEM* file_system, PWSTR name, UINT32 index, BOOLEAN resolves_last,
                                PIO_STATUS_BLOCK status, PVOID buffer, PSIZE_T size) {
  return FrontOf(file_system)
      .api()
      .ResolveReparsePoints(file_system, LinkByName, nullptr, name, index, resolves_last, status, buffer, size);
}

NTSTATUS OpGetReparsePoint(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR, PVOID buffer, PSIZE_T size) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  const Result now = AttributesOf(front, opened);
  if (now.error != Kind::kNone) return ToNtStatus(now.error);
  if (TypeOf(now.entry.attributes.mode) != FileType::kSymlink) return STATUS_NOT_A_REPARSE_POINT;
  return LinkOf(front, opened.id, buffer, size);
}

// A program makes an empty file or folder first, and then a link of it: on a volume another node takes its name.
NTSTATUS OpSetReparsePoint(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR name, PVOID buffer, SIZE_T size) {
  WinfspFront& front = FrontOf(file_system);
  Opened& opened = *OpenedOf(context);
  std::string target;
  if (!ReadTarget(buffer, size, &target)) return STATUS_NOT_SUPPORTED;
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place place;
    const NTSTATUS status = walk.To(name, &place);
    if (status != STATUS_SUCCESS) return status;
    if (place.folder == 0) return STATUS_ACCESS_DENIED;
    const bool is_empty = opened.is_folder || place.attributes.size_bytes == 0;
    if (!is_empty || TypeOf(place.attributes.mode) == FileType::kSymlink) return STATUS_NOT_SUPPORTED;
    const Result removed = Await(front.core(), &DriveCore::Remove, place.folder, place.last.name, opened.is_folder);
    if (removed.error != Kind::kNone) return ToNtStatus(removed.error);
    const Result made =
        Await(front.core(), &DriveCore::Make, place.folder, place.last.name, FileType::kSymlink, 0777, 0, target);
    if (made.error != Kind::kNone) return ToNtStatus(made.error);
    front.Replace(&opened, made.entry.id);
    return STATUS_SUCCESS;
  });
}

// A link without its target would be nothing that a volume knows: programs remove it by its name.
NTSTATUS OpDeleteReparsePoint(FSP_FILE_SYSTEM*, PVOID, PWSTR, PVOID, SIZE_T) { return STATUS_NOT_SUPPORTED; }

}  // namespace runnel::drive
