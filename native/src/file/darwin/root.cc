#include "src/file/root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "calls.h"
#include "src/file/file.h"

namespace runnel {

namespace {

constexpr uint32_t kPermissionBits = 07777;

// The root has no name of its own.
int FindNamedPlace(int root, const std::string& path, Place* place) {
  return path.empty() ? EINVAL : FindPlace(root, path, place);
}

}  // namespace

int OpenRoot(const std::string& path, Descriptor* root) {
  const int fd = Retry([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return errno;
  root->Reset(fd);
  return 0;
}

int MakeRoot(const std::string& path, uint32_t permissions) {
  size_t end = 0;
  while (end < path.size()) {
    const size_t slash = path.find('/', end + 1);
    end = slash == std::string::npos ? path.size() : slash;
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), static_cast<mode_t>(permissions)) == 0) {
      Descriptor made(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      const int error = made.is_open() ? GivePermissions(made.get(), permissions) : errno;
      if (error != 0) return error;
    } else if (const int error = errno; error != EEXIST && (end == path.size() || access(folder.c_str(), F_OK) != 0)) {
      return error;
    }
  }
  return 0;
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

int ChangeStatOfPath(int root, const std::string& path, const StatChange& change) {
  Place place;
  int error = FindPlace(root, path, &place);
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

int MakeFolder(int root, const std::string& path, uint32_t permissions) {
  Place place;
  int error = FindNamedPlace(root, path, &place);
  if (error == 0) {
    error = Try([&] { return mkdirat(place.folder.get(), place.name.c_str(), static_cast<mode_t>(permissions)); });
  }
  Descriptor made;
  if (error == 0) error = OpenFolder(place.folder.get(), place.name, &made);
  return error != 0 ? error : GivePermissions(made.get(), permissions);
}

int MakeSymlink(int root, const std::string& path, const std::string& target) {
  Place place;
  const int error = FindNamedPlace(root, path, &place);
  if (error != 0) return error;
  return Try([&] { return symlinkat(target.c_str(), place.folder.get(), place.name.c_str()); });
}

// Special files are for served folders, and no server runs on macOS yet.
int MakeSpecial(int, const std::string&, FileType, uint32_t, uint64_t) { return EOPNOTSUPP; }

int Link(int root, const std::string& from, const std::string& to) {
  Place source, target;
  int error = FindNamedPlace(root, from, &source);
  if (error == 0) error = FindNamedPlace(root, to, &target);
  if (error != 0) return error;
  return Try(
      [&] { return linkat(source.folder.get(), source.name.c_str(), target.folder.get(), target.name.c_str(), 0); });
}

int ReadSymlink(int root, const std::string& path, std::string* target) {
  Place place;
  const int error = FindNamedPlace(root, path, &place);
  if (error != 0) return error;
  char text[PATH_MAX];
  const ssize_t length = readlinkat(place.folder.get(), place.name.c_str(), text, sizeof(text));
  if (length < 0) return errno;
  target->assign(text, static_cast<size_t>(length));
  return 0;
}

int Rename(int root, const std::string& from, const std::string& to, RenameMode mode) {
  Place source, target;
  int error = FindNamedPlace(root, from, &source);
  if (error == 0) error = FindNamedPlace(root, to, &target);
  if (error != 0) return error;
  const unsigned flags = mode == RenameMode::kKeep ? RENAME_EXCL : mode == RenameMode::kExchange ? RENAME_SWAP : 0;
  return Try([&] {
    return renameatx_np(source.folder.get(), source.name.c_str(), target.folder.get(), target.name.c_str(), flags);
  });
}

int RemoveFile(int root, const std::string& path) {
  struct stat stat;
  Place place;
  int error = FindNamedPlace(root, path, &place);
  if (error == 0) error = StatPlace(root, path, &stat);
  if (error != 0) return error;
  // unlinkat(2) of a folder says EPERM here.
  if (S_ISDIR(stat.st_mode)) return EISDIR;
  return Try([&] { return unlinkat(place.folder.get(), place.name.c_str(), 0); });
}

int RemoveFolder(int root, const std::string& path) {
  Place place;
  const int error = FindNamedPlace(root, path, &place);
  return error != 0 ? error : Try([&] { return unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR); });
}

int SyncFolder(int root, const std::string& path) {
  Descriptor folder;
  const int error = OpenFolder(root, path, &folder);
  return error != 0 ? error : Sync(folder.get(), false);
}

int SpaceOf(int root, Space* space) {
  struct statvfs from;
  const int error = Try([&] { return fstatvfs(root, &from); });
  if (error != 0) return error;
  space->total_bytes = static_cast<uint64_t>(from.f_blocks) * from.f_frsize;
  space->free_bytes = static_cast<uint64_t>(from.f_bfree) * from.f_frsize;
  space->available_bytes = static_cast<uint64_t>(from.f_bavail) * from.f_frsize;
  space->total_files = from.f_files;
  space->free_files = from.f_ffree;
  return 0;
}

}  // namespace runnel
