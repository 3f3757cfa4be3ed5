// Opening regular files only.
#include <cerrno>
#include <utility>

#include "beneath.h"
#include "src/file/file.h"
#include "src/file/root.h"

namespace runnel {

namespace {

constexpr uint32_t kReadAccess = FILE_READ_DATA | FILE_READ_ATTRIBUTES | FILE_READ_EA;
constexpr uint32_t kWriteAccess = kReadAccess | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES;
constexpr uint32_t kWriteBits = 0222;

enum Disposition : uint32_t { kOpen = 1, kCreate = 2, kOpenIf = 3 };

uint32_t DispositionOf(OpenMode mode) {
  if (mode == OpenMode::kCreate) return kOpenIf;
  return mode == OpenMode::kCreateNew ? kCreate : kOpen;
}

int CheckRegular(const Stat& stat) {
  if (stat.type == FileType::kFile) return 0;
  return stat.type == FileType::kFolder ? EISDIR : ELOOP;
}

// A file that is made may have holes, which the caches are full of.
void AllowHoles(int fd) { (void)ControlFile(SystemHandle(fd), FSCTL_SET_SPARSE, nullptr, 0, nullptr, 0); }

}  // namespace

int OpenFile(int root, const std::string& path, OpenMode mode, uint32_t permissions, Descriptor* file) {
  const uint32_t access = mode == OpenMode::kRead ? kReadAccess : kWriteAccess;
  Stat stat;
  const int missing = mode == OpenMode::kCreateNew ? ENOENT : StatPath(root, path, &stat);
  int error = missing == 0 ? CheckRegular(stat) : 0;
  if (error != 0) return error;
  Descriptor opened;
  error = OpenBeneath(root, path, {access, DispositionOf(mode), FILE_NON_DIRECTORY_FILE}, &opened);
  if (error == 0) error = StatOfHandle(SystemHandle(opened.get()), &stat);
  if (error == 0) error = CheckRegular(stat);
  if (error != 0) return error;
  if (missing == ENOENT) {
    AllowHoles(opened.get());
    if ((permissions & kWriteBits) == 0) {
      StatChange change;
      change.has_mode = true;
      change.mode = permissions;
      error = ChangeStat(opened.get(), change);
      if (error != 0) return error;
    }
  }
  *file = std::move(opened);
  return 0;
}

}  // namespace runnel
