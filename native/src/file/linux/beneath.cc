#include "beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "calls.h"

namespace runnel {

namespace {

constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
constexpr uint64_t kFolderReference = O_PATH | O_DIRECTORY | O_NOFOLLOW;
// openat2 answers EAGAIN when a rename or a mount went on elsewhere while it walked; it says nothing about this path.
constexpr int kAttemptsMax = 1000;

int OpenPart(int folder, const char* path, uint64_t flags, uint32_t permissions, Descriptor* opened) {
  struct open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? permissions : 0;
  how.resolve = kResolve;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const long fd = Retry([&] { return syscall(SYS_openat2, folder, path, &how, sizeof(how)); });
    if (fd >= 0) {
      opened->Reset(static_cast<int>(fd));
      return 0;
    }
    if (errno != EAGAIN) return errno;
  }
  return EAGAIN;
}

}  // namespace

int OpenBeneath(int root, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened) {
  if (path.empty()) return OpenPart(root, ".", flags, permissions, opened);
  Descriptor folder;
  size_t from = 0;
  while (path.size() - from >= PATH_MAX) {
    const size_t slash = path.rfind('/', from + PATH_MAX - 1);
    if (slash == std::string::npos || slash <= from) return ENAMETOOLONG;
    Descriptor next;
    const std::string part = path.substr(from, slash - from);
    const int error = OpenPart(folder.is_open() ? folder.get() : root, part.c_str(), kFolderReference, 0, &next);
    if (error != 0) return error;
    folder = std::move(next);
    from = slash + 1;
  }
  return OpenPart(folder.is_open() ? folder.get() : root, path.c_str() + from, flags, permissions, opened);
}

int FindPlace(int root, const std::string& path, Place* place) {
  if (path.empty()) return EINVAL;
  const size_t slash = path.rfind('/');
  const bool is_top = slash == std::string::npos;
  place->name = is_top ? path : path.substr(slash + 1);
  return OpenBeneath(root, is_top ? std::string() : path.substr(0, slash), kFolderReference, 0, &place->folder);
}

}  // namespace runnel
