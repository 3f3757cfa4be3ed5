// Roots, folders and names, as far as POSIX has them.
#include "src/file/root.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

#include "beneath.h"
#include "retry.h"
#include "src/file/file.h"

namespace runnel {

int OpenRoot(const std::string& path, Descriptor* root) {
  // The root's own path may lead through symlinks.
  const int flags = (kFolderReference & ~O_NOFOLLOW) | O_CLOEXEC;
  const int fd = Retry([&] { return open(path.c_str(), flags); });
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
      Descriptor made(open(folder.c_str(), kFolderReference | O_NOFOLLOW | O_CLOEXEC));
      const int error = made.is_open() ? GivePermissions(made.get(), permissions) : errno;
      if (error != 0) return error;
    } else if (const int error = errno; error != EEXIST && (end == path.size() || access(folder.c_str(), F_OK) != 0)) {
      return error;
    }
  }
  return 0;
}

int MakeFolder(int root, const std::string& path, uint32_t permissions) {
  Place place;
  int error = FindPlace(root, path, &place);
  if (error == 0) {
    error = Try([&] { return mkdirat(place.folder.get(), place.name.c_str(), static_cast<mode_t>(permissions)); });
  }
  return error != 0 ? error : GivePermissionsAt(place, S_IFDIR, permissions);
}

int MakeSymlink(int root, const std::string& path, const std::string& target) {
  Place place;
  const int error = FindPlace(root, path, &place);
  if (error != 0) return error;
  return Try([&] { return symlinkat(target.c_str(), place.folder.get(), place.name.c_str()); });
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
  return error != 0 ? error : RenamePlace(source, target, mode);
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
  space->total_bytes = static_cast<uint64_t>(from.f_blocks) * from.f_frsize;
  space->free_bytes = static_cast<uint64_t>(from.f_bfree) * from.f_frsize;
  space->available_bytes = static_cast<uint64_t>(from.f_bavail) * from.f_frsize;
  space->total_files = from.f_files;
  space->free_files = from.f_ffree;
  return 0;
}

}  // namespace runnel
