// Linux: what a path names is opened by reference only (O_PATH), and then looked at or changed by that.
#include "src/file/root.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "calls.h"
#include "src/file/file.h"
#include "src/file/posix/beneath.h"

namespace runnel {

namespace {

constexpr uint64_t kReference = O_PATH | O_NOFOLLOW;
constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
// openat2 answers EAGAIN when a rename or a mount went on elsewhere while it walked; it says nothing about this path.
constexpr int kAttemptsMax = 1000;

mode_t FormatOf(FileType type) {
  switch (type) {
    case FileType::kFifo: return S_IFIFO;
    case FileType::kSocket: return S_IFSOCK;
    case FileType::kBlock: return S_IFBLK;
    case FileType::kChar: return S_IFCHR;
    default: return 0;
  }
}

}  // namespace

const int kFolderReference = O_PATH | O_DIRECTORY | O_NOFOLLOW;

int OpenPart(int folder, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened) {
  struct open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? permissions : 0;
  how.resolve = kResolve;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const long fd = Retry([&] { return syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how)); });
    if (fd >= 0) {
      opened->Reset(static_cast<int>(fd));
      return 0;
    }
    if (errno != EAGAIN) return errno;
  }
  return EAGAIN;
}

int GivePermissionsAt(const Place& place, mode_t format, uint32_t permissions) {
  Descriptor made(openat(place.folder.get(), place.name.c_str(), kReference | O_CLOEXEC));
  if (!made.is_open()) return errno;
  struct stat stat;
  if (fstat(made.get(), &stat) < 0) return errno;
  return (stat.st_mode & S_IFMT) == format ? GivePermissions(made.get(), permissions) : 0;
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

int IdentifyPath(int root, const std::string& path, Stat* stat, std::vector<uint8_t>* handle) {
  Descriptor reference;
  int error = OpenReference(root, path, &reference);
  if (error == 0) error = StatAt(reference.get(), "", stat);
  return error != 0 ? error : HandleOf(reference.get(), handle);
}

int ChangeStatOfPath(int root, const std::string& path, const StatChange& change, const std::vector<uint8_t>& handle) {
  Descriptor reference;
  int error = OpenReference(root, path, &reference);
  std::vector<uint8_t> found;
  if (error == 0 && !handle.empty()) error = HandleOf(reference.get(), &found);
  if (error == 0 && found != handle) error = ENOENT;
  Stat now;
  if (error == 0) error = StatAt(reference.get(), "", &now);
  return error != 0 ? error : ChangeStatOfReference(reference.get(), now, change);
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

int RenamePlace(const Place& from, const Place& to, RenameMode mode) {
  const unsigned flags = mode == RenameMode::kKeep       ? RENAME_NOREPLACE
                         : mode == RenameMode::kExchange ? RENAME_EXCHANGE
                                                         : 0;
  return Try([&] { return renameat2(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str(), flags); });
}

int RemoveFile(int root, const std::string& path) {
  Place place;
  const int error = FindPlace(root, path, &place);
  return error != 0 ? error : Try([&] { return unlinkat(place.folder.get(), place.name.c_str(), 0); });
}

}  // namespace runnel
