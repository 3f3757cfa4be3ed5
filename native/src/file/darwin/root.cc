// macOS: it has no descriptors for reference only (O_PATH), so what a path names is a folder's descriptor and a name.
#include "src/file/root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "calls.h"
#include "src/file/file.h"

namespace runnel {

const int kFolderReference = O_RDONLY | O_DIRECTORY;

int OpenPart(int folder, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened) {
  const int how = static_cast<int>(flags) | O_NOFOLLOW_ANY | O_CLOEXEC;
  Descriptor part(Retry([&] { return openat(folder, path.c_str(), how, static_cast<mode_t>(permissions)); }));
  struct stat of_folder, of_part;
  if (!part.is_open() || fstat(folder, &of_folder) != 0 || fstat(part.get(), &of_part) != 0) return errno;
  if (of_folder.st_dev != of_part.st_dev) return EXDEV;
  *opened = std::move(part);
  return 0;
}

int GivePermissionsAt(const Place& place, mode_t, uint32_t permissions) {
  Descriptor made;
  const int error = OpenFolder(place.folder.get(), place.name, &made);
  return error != 0 ? error : GivePermissions(made.get(), permissions);
}

// The nearest that macOS has to a descriptor for reference only.
int OpenReference(int root, const std::string& path, Descriptor* reference) {
  return OpenBeneath(root, path, O_EVTONLY | O_NONBLOCK, 0, reference);
}

int OpenFolder(int root, const std::string& path, Descriptor* folder) {
  return OpenBeneath(root, path, O_RDONLY | O_DIRECTORY, 0, folder);
}

int StatPath(int root, const std::string& path, Stat* stat) {
  struct stat from;
  const int error = StatPlace(root, path, &from);
  if (error == 0) *stat = StatFrom(from);
  return error;
}

int HandleOfPath(int root, const std::string& path, std::vector<uint8_t>* handle) {
  struct stat from;
  const int error = StatPlace(root, path, &from);
  if (error == 0) *handle = HandleFrom(from);
  return error;
}

int IdentifyPath(int root, const std::string& path, Stat* stat, std::vector<uint8_t>* handle) {
  struct stat from;
  const int error = StatPlace(root, path, &from);
  if (error != 0) return error;
  *stat = StatFrom(from);
  *handle = HandleFrom(from);
  return 0;
}

int ChangeStatOfPath(int root, const std::string& path, const StatChange& change, const std::vector<uint8_t>& handle) {
  Place place;
  int error = FindAnyPlace(root, path, &place);
  std::vector<uint8_t> found;
  if (error == 0 && !handle.empty()) error = HandleOfPath(root, path, &found);
  if (error == 0 && found != handle) error = ENOENT;
  if (error != 0) return error;
  const int folder = place.folder.get();
  const char* name = place.name.c_str();
  if (change.has_uid || change.has_gid) {
    const uid_t uid = change.has_uid ? change.uid : static_cast<uid_t>(-1);
    const gid_t gid = change.has_gid ? change.gid : static_cast<gid_t>(-1);
    error = Try([&] { return fchownat(folder, name, uid, gid, AT_SYMLINK_NOFOLLOW); });
  }
  if (error == 0 && change.has_mode) {
    const mode_t mode = static_cast<mode_t>(change.mode & kPermissionBits);
    error = Try([&] { return fchmodat(folder, name, mode, AT_SYMLINK_NOFOLLOW); });
  }
  const Times times(change.mtime_ns);
  if (error != 0 || !change.has_mtime) return error;
  return Try([&] { return utimensat(folder, name, times.both, AT_SYMLINK_NOFOLLOW); });
}

// Special files are for served folders, and no server runs on macOS yet.
int MakeSpecial(int, const std::string&, FileType, uint32_t, uint64_t) { return EOPNOTSUPP; }

int RenamePlace(const Place& from, const Place& to, RenameMode mode) {
  const unsigned flags = mode == RenameMode::kKeep ? RENAME_EXCL : mode == RenameMode::kExchange ? RENAME_SWAP : 0;
  return Try(
      [&] { return renameatx_np(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str(), flags); });
}

int RemoveFile(int root, const std::string& path) {
  struct stat stat;
  Place place;
  int error = FindPlace(root, path, &place);
  if (error == 0) error = StatPlace(root, path, &stat);
  if (error != 0) return error;
  // unlinkat(2) of a folder says EPERM here.
  if (S_ISDIR(stat.st_mode)) return EISDIR;
  return Try([&] { return unlinkat(place.folder.get(), place.name.c_str(), 0); });
}

}  // namespace runnel
