// Callbacks that go by names: opening, making, renaming, removing.
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "nt_status.h"
#include "results.h"
#include "winfsp_ops.h"

namespace runnel::drive {
namespace {

constexpr UINT32 kOpensContent = FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_EXECUTE;
constexpr UINT32 kWrites = FILE_WRITE_DATA | FILE_APPEND_DATA;
constexpr uint32_t kWriteBits = 0222;

// Constants of ntifs.h; the disposition is what the highest byte of the options holds.
enum : UINT32 { kSupersede = 0, kCreate = 2, kOverwrite = 4, kOverwriteIf = 5 };
UINT32 DispositionOf(UINT32 options) { return options >> 24; }
bool Overwrites(UINT32 options) {
  const UINT32 disposition = DispositionOf(options);
  return disposition == kSupersede || disposition == kOverwrite || disposition == kOverwriteIf;
}

// Tells WinFsp how the names on the way are written, so that programs that ask for a file's path, and those who watch,
// hear one spelling.
void SetNormalizedName(const Place& place, FSP_FSCTL_FILE_INFO* info) {
  FSP_FSCTL_OPEN_FILE_INFO* open_info = FspFileSystemGetOpenFileInfo(info);
  const size_t bytes = place.path.size() * sizeof(wchar_t);
  if (bytes > FSP_FSCTL_TRANSACT_PATH_SIZEMAX || bytes > open_info->NormalizedNameSize) return;
  memcpy(open_info->NormalizedName, place.path.data(), bytes);
  open_info->NormalizedNameSize = static_cast<UINT16>(bytes);
}

NTSTATUS CheckKind(const Attributes& attributes, UINT32 options) {
  const FileType type = TypeOf(attributes.mode);
  if ((options & FILE_DIRECTORY_FILE) && type != FileType::kFolder && type != FileType::kSymlink)
    return STATUS_NOT_A_DIRECTORY;
  if ((options & FILE_NON_DIRECTORY_FILE) && type == FileType::kFolder) return STATUS_FILE_IS_A_DIRECTORY;
  return STATUS_SUCCESS;
}

NTSTATUS OpenPlace(WinfspFront& front, Walk* walk, const Place& place, UINT32 access, PVOID* context,
                   FSP_FSCTL_FILE_INFO* info) {
  Handle* handle = nullptr;
  Attributes attributes = place.attributes;
  if (TypeOf(attributes.mode) == FileType::kFile && (access & kOpensContent) != 0) {
    const int flags = (access & kWrites) != 0 ? O_RDWR : O_RDONLY;
    const Result opened = Await(front.core(), &DriveCore::Open, place.id, flags);
    if (opened.error != Kind::kNone) return ToNtStatus(opened.error);
    handle = opened.handle;
    // The size is that of the version that was opened.
    const Result now = Await(front.core(), &DriveCore::GetAttributes, place.id);
    if (now.error == Kind::kNone) attributes = now.entry.attributes;
  }
  walk->Keep(place.id);
  *context = front.Add(place.id, attributes, handle);
  FillInfo(attributes, info);
  SetNormalizedName(place, info);
  return STATUS_SUCCESS;
}

struct Making {
  UINT32 options;
  UINT32 access;
  uint32_t mode;
};

NTSTATUS MakeAt(WinfspFront& front, const Place& place, const Making& making, PVOID* context,
                FSP_FSCTL_FILE_INFO* info) {
  DriveCore& core = front.core();
  const bool is_folder = (making.options & FILE_DIRECTORY_FILE) != 0;
  // Only who insists on a new file has to wait until it is known that there is none.
  const int flags = O_RDWR | O_CREAT | (DispositionOf(making.options) == kCreate ? O_EXCL : 0);
  const Result made =
      is_folder ? Await(core, &DriveCore::Make, place.folder, place.last.name, FileType::kFolder, making.mode, 0, "")
                : Await(core, &DriveCore::Create, place.folder, place.last.name, making.mode, flags);
  if (made.error != Kind::kNone) return ToNtStatus(made.error);
  *context = front.Add(made.entry.id, made.entry.attributes, made.handle);
  FillInfo(made.entry.attributes, info);
  SetNormalizedName(place, info);
  return STATUS_SUCCESS;
}

// Finds what is open by the name that it was opened by. Another client may have put something else there meanwhile,
// which is not what the program means.
NTSTATUS FindOpened(WinfspFront& front, Walk* walk, PWSTR name, const Opened& opened, Place* place) {
  const NTSTATUS status = walk->To(name, place);
  if (status != STATUS_SUCCESS) return status;
  const Result now = AttributesOf(front, opened);
  if (now.error != Kind::kNone) return ToNtStatus(now.error);
  return now.entry.attributes.ino == place->attributes.ino ? STATUS_SUCCESS : STATUS_OBJECT_NAME_NOT_FOUND;
}

}  // namespace

NTSTATUS OpGetSecurityByName(FSP_FILE_SYSTEM* file_system, PWSTR name, PUINT32 attributes,
                             PSECURITY_DESCRIPTOR descriptor, SIZE_T* size) {
  WinfspFront& front = FrontOf(file_system);
  Place place;
  const NTSTATUS status = WithNames([&] { return Walk(front.core()).To(name, &place); });
  if (status == STATUS_REPARSE && attributes != nullptr) *attributes = static_cast<UINT32>(place.link_at);
  if (status != STATUS_SUCCESS) return status;
  if (attributes != nullptr) {
    FSP_FSCTL_FILE_INFO info;
    FillInfo(place.attributes, &info);
    *attributes = info.FileAttributes;
  }
  if (size == nullptr) return STATUS_SUCCESS;
  const Bytes bytes = DescriptorOf(place.attributes, front.person());
  const bool has_room = bytes.size() <= *size;
  *size = bytes.size();
  if (!has_room) return STATUS_BUFFER_OVERFLOW;
  if (descriptor != nullptr) memcpy(descriptor, bytes.data(), bytes.size());
  return STATUS_SUCCESS;
}

// The given descriptor is what Windows makes of the folder's and of the program's own defaults, which would keep
// everybody else out: what is made here has the rights that a file of most systems begins with.
NTSTATUS OpCreate(FSP_FILE_SYSTEM* file_system, PWSTR name, UINT32 options, UINT32 access, UINT32 attributes,
                  PSECURITY_DESCRIPTOR, UINT64, PVOID* context, FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  const bool is_folder = (options & FILE_DIRECTORY_FILE) != 0;
  Making making = {options, access, is_folder ? kNewFolderMode : kNewFileMode};
  if ((attributes & FILE_ATTRIBUTE_READONLY) != 0 && !is_folder) making.mode &= ~kWriteBits;
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place place;
    const NTSTATUS status = walk.To(name, &place);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND) {
      const NTSTATUS refused = CheckNewName(place.last.wide);
      return refused != STATUS_SUCCESS ? refused : MakeAt(front, place, making, context, info);
    }
    if (status != STATUS_SUCCESS) return status;
    // Somebody was first.
    if (DispositionOf(options) == kCreate || is_folder || place.folder == 0) return STATUS_OBJECT_NAME_COLLISION;
    const NTSTATUS wrong = CheckKind(place.attributes, options);
    if (wrong != STATUS_SUCCESS) return wrong;
    const NTSTATUS opened = OpenPlace(front, &walk, place, access, context, info);
    if (opened != STATUS_SUCCESS || !Overwrites(options)) return opened;
    const NTSTATUS emptied = OpOverwrite(file_system, *context, attributes, TRUE, 0, info);
    if (emptied != STATUS_SUCCESS) front.Remove(OpenedOf(*context));
    return emptied;
  });
}

NTSTATUS OpOpen(FSP_FILE_SYSTEM* file_system, PWSTR name, UINT32 options, UINT32 access, PVOID* context,
                FSP_FSCTL_FILE_INFO* info) {
  WinfspFront& front = FrontOf(file_system);
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place place;
    const NTSTATUS status = walk.To(name, &place);
    if (status != STATUS_SUCCESS) return status;
    const NTSTATUS wrong = CheckKind(place.attributes, options);
    return wrong != STATUS_SUCCESS ? wrong : OpenPlace(front, &walk, place, access, context, info);
  });
}

// A failure cannot be reported here.
VOID OpCleanup(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR name, ULONG flags) {
  WinfspFront& front = FrontOf(file_system);
  Opened* opened = OpenedOf(context);
  if ((flags & FspCleanupDelete) != 0 && name != nullptr) {
    (void)WithNames([&]() -> NTSTATUS {
      Walk walk(front.core());
      Place place;
      const NTSTATUS status = FindOpened(front, &walk, name, *opened, &place);
      if (status != STATUS_SUCCESS || place.folder == 0) return status;
      const Result removed = Await(front.core(), &DriveCore::Remove, place.folder, place.last.name, opened->is_folder);
      return ToNtStatus(removed.error);
    });
    return;
  }
  if (opened->handle == nullptr) return;
  (void)Await(front.core(), &DriveCore::Flush, opened->handle);
}

VOID OpClose(FSP_FILE_SYSTEM* file_system, PVOID context) { FrontOf(file_system).Remove(OpenedOf(context)); }

NTSTATUS OpCanDelete(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR) {
  WinfspFront& front = FrontOf(file_system);
  const Opened& opened = *OpenedOf(context);
  if (front.is_read_only()) return STATUS_MEDIA_WRITE_PROTECTED;
  if (opened.is_root) return STATUS_CANNOT_DELETE;
  if (!opened.is_folder) return STATUS_SUCCESS;
  const Result any = Await(front.core(), &DriveCore::FindName, opened.id, std::nullopt);
  if (any.error == Kind::kNotFound) return STATUS_SUCCESS;
  return any.error == Kind::kNone ? STATUS_DIRECTORY_NOT_EMPTY : ToNtStatus(any.error);
}

NTSTATUS OpRename(FSP_FILE_SYSTEM* file_system, PVOID context, PWSTR name, PWSTR new_name, BOOLEAN replaces) {
  WinfspFront& front = FrontOf(file_system);
  return WithNames([&]() -> NTSTATUS {
    Walk walk(front.core());
    Place from;
    Place to;
    NTSTATUS status = FindOpened(front, &walk, name, *OpenedOf(context), &from);
    if (status != STATUS_SUCCESS) return status;
    status = walk.To(new_name, &to);
    if (status != STATUS_SUCCESS && status != STATUS_OBJECT_NAME_NOT_FOUND) return status;
    if (from.folder == 0 || to.folder == 0) return STATUS_ACCESS_DENIED;
    std::string to_name = to.last.name;
    RenameHow how = RenameHow::kKeep;
    std::vector<PathStep> asked;
    (void)SplitPath(new_name, &asked);
    if (to.id == 0 || (to.folder == from.folder && to.last.name == from.last.name)) {
      // A name that nothing has, or another spelling of its own.
      to_name = asked.back().name;
      const NTSTATUS refused = CheckNewName(asked.back().wide);
      if (refused != STATUS_SUCCESS) return refused;
      if (to_name == from.last.name && to.id != 0) return STATUS_SUCCESS;
    } else if (!replaces) {
      return STATUS_OBJECT_NAME_COLLISION;
    } else if (TypeOf(to.attributes.mode) == FileType::kFolder) {
      return STATUS_ACCESS_DENIED;
    } else {
      how = RenameHow::kReplace;
    }
    const Result renamed =
        Await(front.core(), &DriveCore::Rename, from.folder, from.last.name, to.folder, to_name, how);
    return ToNtStatus(renamed.error);
  });
}

}  // namespace runnel::drive
