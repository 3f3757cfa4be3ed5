#include "calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace runnel {

namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr uint32_t kPermissionBits = 07777;
// The first bytes of a handle: of the kind that HandleFrom makes.
constexpr uint8_t kHandleKind = 1;

int64_t Nanoseconds(const struct timespec& time) { return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec; }

FileType TypeOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return FileType::kFolder;
    case S_IFLNK: return FileType::kSymlink;
    case S_IFIFO: return FileType::kFifo;
    case S_IFSOCK: return FileType::kSocket;
    case S_IFBLK: return FileType::kBlock;
    case S_IFCHR: return FileType::kChar;
    default: return FileType::kFile;
  }
}

void AppendNumber(std::vector<uint8_t>* bytes, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) bytes->push_back(static_cast<uint8_t>(number >> shift));
}

int CheckSameDevice(int root, int opened) {
  struct stat of_root, of_opened;
  if (fstat(root, &of_root) != 0 || fstat(opened, &of_opened) != 0) return errno;
  return of_root.st_dev == of_opened.st_dev ? 0 : EXDEV;
}

int OpenPart(int folder, const std::string& path, int flags, uint32_t permissions, Descriptor* opened) {
  const int fd = Retry([&] {
    return openat(folder, path.c_str(), flags | O_NOFOLLOW_ANY | O_CLOEXEC, static_cast<mode_t>(permissions));
  });
  if (fd < 0) return errno;
  opened->Reset(fd);
  return 0;
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

Times::Times(int64_t mtime_ns)
    : both{{0, UTIME_OMIT}, {mtime_ns / kNanosecondsPerSecond, mtime_ns % kNanosecondsPerSecond}} {
  if (both[1].tv_nsec < 0) {
    --both[1].tv_sec;
    both[1].tv_nsec += kNanosecondsPerSecond;
  }
}

int OpenBeneath(int root, const std::string& path, int flags, uint32_t permissions, Descriptor* opened) {
  Descriptor folder;
  size_t from = 0;
  while (path.size() - from >= PATH_MAX) {
    const size_t slash = path.rfind('/', from + PATH_MAX - 1);
    if (slash == std::string::npos || slash <= from) return ENAMETOOLONG;
    Descriptor next;
    const std::string part = path.substr(from, slash - from);
    const int error = OpenPart(folder.is_open() ? folder.get() : root, part, O_RDONLY | O_DIRECTORY, 0, &next);
    if (error != 0) return error;
    folder = std::move(next);
    from = slash + 1;
  }
  Descriptor last;
  const std::string rest = path.empty() ? "." : path.substr(from);
  int error = OpenPart(folder.is_open() ? folder.get() : root, rest, flags, permissions, &last);
  if (error == 0) error = CheckSameDevice(root, last.get());
  if (error == 0) *opened = std::move(last);
  return error;
}

int FindPlace(int root, const std::string& path, Place* place) {
  const size_t slash = path.rfind('/');
  const bool is_top = slash == std::string::npos;
  place->name = is_top ? path : path.substr(slash + 1);
  if (path.empty()) place->name = ".";
  return OpenBeneath(root, is_top ? std::string() : path.substr(0, slash), O_RDONLY | O_DIRECTORY, 0, &place->folder);
}

int StatPlace(int root, const std::string& path, struct stat* stat) {
  Place place;
  const int error = FindPlace(root, path, &place);
  if (error != 0) return error;
  struct stat of_folder;
  if (fstatat(place.folder.get(), place.name.c_str(), stat, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (fstat(place.folder.get(), &of_folder) != 0) return errno;
  return stat->st_dev == of_folder.st_dev ? 0 : EXDEV;
}

}  // namespace runnel
