#include "src/file/root.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "beneath.h"
#include "src/file/file.h"

namespace runnel {

namespace {

constexpr uint32_t kCreate = 2;  // FILE_CREATE
constexpr uint32_t kRootAccess = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES;

// Flags of FILE_RENAME_INFORMATION and FILE_DISPOSITION_INFORMATION_EX (ntddk.h).
constexpr uint32_t kRenameReplaces = 0x1;
constexpr uint32_t kRenameLikePosix = 0x2;
constexpr uint32_t kRenameReadOnlyToo = 0x40;
constexpr uint32_t kDelete = 0x1;
constexpr uint32_t kDeleteLikePosix = 0x2;
constexpr uint32_t kDeleteReadOnlyToo = 0x10;

// FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION, before the name.
struct NewName {
  uint32_t flags;
  HANDLE folder;
  uint32_t name_bytes;
};
constexpr size_t kNameAt = offsetof(NewName, name_bytes) + sizeof(uint32_t);

std::vector<uint8_t> NewNameAt(const Place& place, uint32_t flags) {
  const uint32_t name_bytes = static_cast<uint32_t>(place.name.size() * sizeof(wchar_t));
  const NewName head = {flags, SystemHandle(place.folder.get()), name_bytes};
  std::vector<uint8_t> record(std::max(sizeof(NewName), kNameAt + name_bytes));
  std::memcpy(record.data(), &head, sizeof(head));
  std::memcpy(record.data() + kNameAt, place.name.data(), name_bytes);
  return record;
}

// An absolute path as the system's own calls have it.
class NativePath {
 public:
  explicit NativePath(const std::string& path) {
    std::wstring wide;
    is_valid_ = ToUtf16(path, &wide) && RtlDosPathNameToNtPathName_U(wide.c_str(), &name_, nullptr, nullptr);
  }
  NativePath(const NativePath&) = delete;
  NativePath& operator=(const NativePath&) = delete;
  ~NativePath() {
    if (is_valid_) RtlFreeUnicodeString(&name_);
  }

  int OpenFolder(uint32_t disposition, Descriptor* opened) {
    if (!is_valid_) return EINVAL;
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, &name_, OBJ_CASE_INSENSITIVE, nullptr, nullptr);
    IO_STATUS_BLOCK io = {};
    HANDLE handle = nullptr;
    const NTSTATUS status =
        NtCreateFile(&handle, kRootAccess | SYNCHRONIZE, &attributes, &io, nullptr, FILE_ATTRIBUTE_NORMAL,
                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, disposition,
                     FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT, nullptr, 0);
    if (status >= 0) opened->Reset(DescriptorOf(handle));
    return ErrorOf(status);
  }

 private:
  UNICODE_STRING name_ = {};
  bool is_valid_ = false;
};

int Remove(int root, const std::string& path, uint32_t option) {
  Descriptor named;
  const int error = OpenBeneath(root, path, {DELETE | FILE_READ_ATTRIBUTES, 1, option}, &named);
  if (error != 0) return error;
  const uint32_t flags = kDelete | kDeleteLikePosix | kDeleteReadOnlyToo;
  NTSTATUS status = SetFile(SystemHandle(named.get()), kDispositionInformationEx, &flags, sizeof(flags));
  if (IsUnknownCall(status)) {
    const uint8_t is_removed = 1;
    status = SetFile(SystemHandle(named.get()), FileDispositionInformation, &is_removed, sizeof(is_removed));
  }
  return ErrorOf(status);
}

// Removes an empty folder that is to be replaced, since the system replaces none. Like replaces like only.
int RemoveEmptyTarget(int root, const Stat& source, const std::string& to) {
  Stat target;
  const int error = StatPath(root, to, &target);
  if (error != 0) return error == ENOENT ? 0 : error;
  const bool is_folder = source.type == FileType::kFolder;
  if (is_folder != (target.type == FileType::kFolder)) return is_folder ? ENOTDIR : EISDIR;
  const bool is_same = source.dev == target.dev && source.ino == target.ino;
  return is_folder && !is_same ? RemoveFolder(root, to) : 0;
}

}  // namespace

int OpenRoot(const std::string& path, Descriptor* root) { return NativePath(path).OpenFolder(1, root); }

int MakeRoot(const std::string& path, uint32_t permissions) {
  Descriptor made;
  int error = NativePath(path).OpenFolder(kCreate, &made);
  if (error == EEXIST) return 0;
  if (error != ENOENT) return error;
  const size_t slash = path.find_last_of("\\/");
  if (slash == std::string::npos || slash == 0) return error;
  error = MakeRoot(path.substr(0, slash), permissions);
  if (error == 0) error = NativePath(path).OpenFolder(kCreate, &made);
  return error == EEXIST ? 0 : error;
}

int OpenReference(int root, const std::string& path, Descriptor* reference) {
  return OpenBeneath(root, path, {}, reference);
}

int OpenFolder(int root, const std::string& path, Descriptor* folder) {
  Descriptor opened;
  int error = OpenBeneath(root, path, {kRootAccess, 1, FILE_DIRECTORY_FILE}, &opened);
  Stat stat;
  if (error == 0) error = StatOfHandle(SystemHandle(opened.get()), &stat);
  if (error == 0 && stat.type != FileType::kFolder) error = ELOOP;
  if (error == 0) *folder = std::move(opened);
  return error;
}

int StatPath(int root, const std::string& path, Stat* stat) {
  Descriptor reference;
  const int error = OpenReference(root, path, &reference);
  return error != 0 ? error : StatOfHandle(SystemHandle(reference.get()), stat);
}

int HandleOfPath(int root, const std::string& path, std::vector<uint8_t>* handle) {
  Descriptor reference;
  const int error = OpenReference(root, path, &reference);
  return error != 0 ? error : HandleOf(reference.get(), handle);
}

int IdentifyPath(int root, const std::string& path, Stat* stat, std::vector<uint8_t>* handle) {
  Descriptor reference;
  int error = OpenReference(root, path, &reference);
  if (error == 0) error = StatOfHandle(SystemHandle(reference.get()), stat);
  return error != 0 ? error : HandleOf(reference.get(), handle);
}

int ChangeStatOfPath(int root, const std::string& path, const StatChange& change, const std::vector<uint8_t>& handle) {
  Descriptor opened;
  int error = OpenBeneath(root, path, {FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES, 1, 0}, &opened);
  std::vector<uint8_t> found;
  if (error == 0 && !handle.empty()) error = HandleOf(opened.get(), &found);
  if (error == 0 && found != handle) error = ENOENT;
  return error != 0 ? error : ChangeStat(opened.get(), change);
}

// Ignores the permissions: Windows has none of this kind, and who may use the folder is inherited from the one above.
int MakeFolder(int root, const std::string& path, uint32_t) {
  Descriptor made;
  return OpenBeneath(root, path, {FILE_READ_ATTRIBUTES, kCreate, FILE_DIRECTORY_FILE}, &made);
}

// Only administrators may make them.
int MakeSymlink(int, const std::string&, const std::string&) { return EOPNOTSUPP; }

int MakeSpecial(int, const std::string&, FileType, uint32_t, uint64_t) { return EOPNOTSUPP; }

int Link(int root, const std::string& from, const std::string& to) {
  Descriptor source;
  Place target;
  int error = OpenBeneath(root, from, {FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES, 1, 0}, &source);
  if (error == 0) error = FindPlace(root, to, &target);
  if (error != 0) return error;
  const std::vector<uint8_t> record = NewNameAt(target, 0);
  return ErrorOf(SetFile(SystemHandle(source.get()), kLinkInformation, record.data(), record.size()));
}

int ReadSymlink(int root, const std::string& path, std::string*) {
  Stat stat;
  const int error = StatPath(root, path, &stat);
  if (error != 0) return error;
  return stat.type == FileType::kSymlink ? EOPNOTSUPP : EINVAL;
}

int Rename(int root, const std::string& from, const std::string& to, RenameMode mode) {
  if (mode == RenameMode::kExchange) return EOPNOTSUPP;
  Descriptor source;
  Place target;
  int error = OpenBeneath(root, from, {DELETE | FILE_READ_ATTRIBUTES, 1, 0}, &source);
  if (error == 0) error = FindPlace(root, to, &target);
  if (error != 0) return error;
  const bool replaces = mode == RenameMode::kReplace;
  if (replaces) {
    Stat stat;
    error = StatOfHandle(SystemHandle(source.get()), &stat);
    if (error == 0) error = RemoveEmptyTarget(root, stat, to);
    if (error != 0) return error;
  }
  const uint32_t flags = kRenameLikePosix | kRenameReadOnlyToo | (replaces ? kRenameReplaces : 0);
  std::vector<uint8_t> record = NewNameAt(target, flags);
  NTSTATUS status = SetFile(SystemHandle(source.get()), kRenameInformationEx, record.data(), record.size());
  if (IsUnknownCall(status)) {
    record = NewNameAt(target, replaces ? kRenameReplaces : 0);
    status = SetFile(SystemHandle(source.get()), kRenameInformation, record.data(), record.size());
  }
  return ErrorOf(status);
}

int RemoveFile(int root, const std::string& path) { return Remove(root, path, FILE_NON_DIRECTORY_FILE); }

int RemoveFolder(int root, const std::string& path) { return Remove(root, path, FILE_DIRECTORY_FILE); }

int SyncFolder(int root, const std::string& path) {
  Descriptor folder;
  const uint32_t access = FILE_LIST_DIRECTORY | FILE_ADD_FILE | FILE_READ_ATTRIBUTES;
  const int error = OpenBeneath(root, path, {access, 1, FILE_DIRECTORY_FILE}, &folder);
  return error != 0 ? error : Sync(folder.get(), false);
}

int SpaceOf(int root, Space* space) {
  FILE_FS_FULL_SIZE_INFORMATION size;
  IO_STATUS_BLOCK io = {};
  const int error =
      ErrorOf(NtQueryVolumeInformationFile(SystemHandle(root), &io, &size, sizeof(size), FileFsFullSizeInformation));
  if (error != 0) return error;
  const uint64_t unit = static_cast<uint64_t>(size.SectorsPerAllocationUnit) * size.BytesPerSector;
  space->total_bytes = static_cast<uint64_t>(size.TotalAllocationUnits.QuadPart) * unit;
  space->free_bytes = static_cast<uint64_t>(size.ActualAvailableAllocationUnits.QuadPart) * unit;
  space->available_bytes = static_cast<uint64_t>(size.CallerAvailableAllocationUnits.QuadPart) * unit;
  return 0;
}

}  // namespace runnel
