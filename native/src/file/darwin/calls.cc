#include "calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace runnel {

namespace {

// The first bytes of a handle: of the kind that HandleFrom makes.
constexpr uint8_t kHandleKind = 1;

int64_t Nanoseconds(const struct timespec& time) { return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec; }

void AppendNumber(std::vector<uint8_t>* bytes, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) bytes->push_back(static_cast<uint8_t>(number >> shift));
}

}  // namespace

Stat StatFrom(const struct stat& from) {
  Stat stat;
  stat.type = TypeOf(from.st_mode);
  stat.mode = from.st_mode & kPermissionBits;
  stat.uid = from.st_uid;
  stat.gid = from.st_gid;
  stat.size_bytes = static_cast<uint64_t>(from.st_size);
  stat.mtime_ns = Nanoseconds(from.st_mtimespec);
  stat.ctime_ns = Nanoseconds(from.st_ctimespec);
  stat.dev = static_cast<uint64_t>(static_cast<uint32_t>(from.st_dev));
  stat.ino = from.st_ino;
  stat.nlink = from.st_nlink;
  stat.rdev = static_cast<uint64_t>(static_cast<uint32_t>(from.st_rdev));
  return stat;
}

std::vector<uint8_t> HandleFrom(const struct stat& from) {
  std::vector<uint8_t> handle = {kHandleKind, 0, 0, 0};
  AppendNumber(&handle, static_cast<uint64_t>(from.st_dev));
  AppendNumber(&handle, from.st_ino);
  AppendNumber(&handle, static_cast<uint64_t>(Nanoseconds(from.st_birthtimespec)));
  return handle;
}

int GivePermissions(int fd, uint32_t permissions) {
  return Try([&] { return fchmod(fd, static_cast<mode_t>(permissions & kPermissionBits)); });
}

int StatAt(int folder, const char* name, Stat* stat) {
  struct stat from;
  if (fstatat(folder, name, &from, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  *stat = StatFrom(from);
  return 0;
}

int FindAnyPlace(int root, const std::string& path, Place* place) {
  if (!path.empty()) return FindPlace(root, path, place);
  place->name = ".";
  return OpenBeneath(root, path, kFolderReference, 0, &place->folder);
}

int StatPlace(int root, const std::string& path, struct stat* stat) {
  Place place;
  const int error = FindAnyPlace(root, path, &place);
  if (error != 0) return error;
  struct stat of_folder;
  if (fstatat(place.folder.get(), place.name.c_str(), stat, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (fstat(place.folder.get(), &of_folder) != 0) return errno;
  return stat->st_dev == of_folder.st_dev ? 0 : EXDEV;
}

}  // namespace runnel
