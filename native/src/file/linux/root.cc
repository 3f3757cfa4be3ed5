#include "src/file/root.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "beneath.h"
#include "calls.h"
#include "src/file/file.h"

namespace runnel {

namespace {

constexpr uint64_t kReference = O_PATH | O_NOFOLLOW;

mode_t FormatOf(FileType type) {
  switch (type) {
    case FileType::kFifo: return S_IFIFO;
    case FileType::kSocket: return S_IFSOCK;
    case FileType::kBlock: return S_IFBLK;
    case FileType::kChar: return S_IFCHR;
    default: return 0;
  }
}

// Gives what was just made at a place its permissions. What another program put there meanwhile is not touched.
int GivePermissionsAt(const Place& place, mode_t format, uint32_t permissions) {
  Descriptor made(openat(place.folder.get(), place.name.c_str(), kReference | O_CLOEXEC));
  if (!made.is_open()) return errno;
  struct stat stat;
  if (fstat(made.get(), &stat) < 0) return errno;
  return (stat.st_mode & S_IFMT) == format ? GivePermissions(made.get(), permissions) : 0;
}

}  // namespace

int OpenRoot(const std::string& path, Descriptor* root) {
  const int fd = Retry([&] { return open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
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
    if (mkdir(folder.c_str(), permissions) == 0) {
      Descriptor made(open(folder.c_str(), kReference | O_DIRECTORY | O_CLOEXEC));
      const int error = made.is_open() ? GivePermissions(made.get(), permissions) : errno;
      if (error != 0) return error;
    } else if (const int error = errno; error != EEXIST && (end == path.size() || access(folder.c_str(), F_OK) != 0)) {
      return error;
    }
  }
  return 0;
}

int OpenReference(int root, const std::string& path, Descriptor* reference) {
  return OpenBeneath(root, path, kReference, 0, reference);
}

int OpenFolder(int root, const std::string& path, Descriptor* folder) {
  return OpenBeneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, folder);
}

int StatPath(int root, const std::string& path, Stat* stat) {
  Descriptor reference;
  const int error = OpenReference(root, path, &reference);
  return error != 0 ? error : StatAt(reference.get(), "", stat);
}

int HandleOfPath(int root, const std::string& path, std::vector<uint8_t>* handle) {
  Descriptor reference;
  const int error = OpenReference(root, path, &reference);
  return error != 0 ? error : HandleOf(reference.get(), handle);
}

int ChangeStatOfPath(int root, const std::string& path, const StatChange& change) {
  Descriptor reference;
  int error = OpenReference(root, path, &reference);
  Stat now;
  if (error == 0) error = StatAt(reference.get(), "", &now);
  return error != 0 ? error : ChangeStatOfReference(reference.get(), now, change);
}

int MakeFolder(int root, const std::string& path, uint32_t permissions) {
  Place place;
  int error = FindPlace(root, path, &place);
  if (error == 0) error = Try([&] { return mkdirat(place.folder.get(), place.name.c_str(), permissions); });
  return error != 0 ? error : GivePermissionsAt(place, S_IFDIR, permissions);
}

int MakeSymlink(int root, const std::string& path, const std::string& target) {
  Place place;
  const int error = FindPlace(root, path, &place);
  if (error != 0) return error;
  return Try([&] { return symlinkat(target.c_str(), place.folder.get(), place.name.c_str()); });
}

int MakeSpecial(int root, const std::string& path, FileType type, uint32_t permissions, uint64_t rdev) {
  const mode_t format = FormatOf(type);
  if (format == 0) return EINVAL;
  Place place;
  int error = FindPlace(root, path, &place);
  if (error == 0) {
    error = Try([&] { return mknodat(place.folder.get(), place.name.c_str(), format | permissions, rdev); });
  }
  return error != 0 ? error : GivePermissionsAt(place, format, permissions);
}

int Link(int root, const std::string& from, const std::string& to) {
  Place source, target;
  int error = FindPlace(root, from, &source);
  if (error == 0) error = FindPlace(root, to, &target);
  if (error != 0) return error;
  return Try(
      [&] { return linkat(source.folder.get(), source.name.c_str(), target.folder.get(), target.name.c_str(), 0); });
}

int ReadSymlink(int root, const std::string& path, std::string* target) {
  Place place;
  const int error = FindPlace(root, path, &place);
  if (error != 0) return error;
  char text[PATH_MAX];
  const ssize_t length = readlinkat(place.folder.get(), place.name.c_str(), text, sizeof(text));
  if (length < 0) return errno;
  target->assign(text, static_cast<size_t>(length));
  return 0;
}

int Rename(int root, const std::string& from, const std::string& to, RenameMode mode) {
  Place source, target;
  int error = FindPlace(root, from, &source);
  if (error == 0) error = FindPlace(root, to, &target);
  if (error != 0) return error;
  const unsigned flags = mode == RenameMode::kKeep       ? RENAME_NOREPLACE
                         : mode == RenameMode::kExchange ? RENAME_EXCHANGE
                                                         : 0;
  return Try([&] {
    return renameat2(source.folder.get(), source.name.c_str(), target.folder.get(), target.name.c_str(), flags);
  });
}

int RemoveFile(int root, const std::string& path) {
  Place place;
  const int error = FindPlace(root, path, &place);
  return error != 0 ? error : Try([&] { return unlinkat(place.folder.get(), place.name.c_str(), 0); });
}

int RemoveFolder(int root, const std::string& path) {
  Place place;
  const int error = FindPlace(root, path, &place);
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
  space->total_bytes = from.f_blocks * from.f_frsize;
  space->free_bytes = from.f_bfree * from.f_frsize;
  space->available_bytes = from.f_bavail * from.f_frsize;
  space->total_files = from.f_files;
  space->free_files = from.f_ffree;
  return 0;
}

}  // namespace runnel
