// Opening regular files only, without waiting on or touching anything else.
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "beneath.h"
#include "src/file/file.h"

namespace runnel {

namespace {

// The number of times that a file may vanish or appear between the two ways of opening it before that is an error.
constexpr int kOpenAttemptsMax = 100;
// O_NONBLOCK: a fifo put there between the check and the opening must not hold this thread.
constexpr uint64_t kCommonFlags = O_NONBLOCK | O_NOCTTY;

int CheckRegular(const Stat& stat) {
  if (stat.type == FileType::kFile) return 0;
  if (stat.type == FileType::kFolder) return EISDIR;
  return stat.type == FileType::kSymlink ? ELOOP : EOPNOTSUPP;
}

int OpenExisting(int root, const std::string& path, uint64_t access, Descriptor* file) {
  // Looked at first: merely opening some devices has effects.
  Stat stat;
  int error = StatPath(root, path, &stat);
  if (error == 0) error = CheckRegular(stat);
  if (error != 0) return error;
  Descriptor opened;
  error = OpenBeneath(root, path, access | kCommonFlags, 0, &opened);
  if (error == ENXIO) return EOPNOTSUPP;
  if (error == 0) error = StatFile(opened.get(), &stat);
  if (error == 0) error = CheckRegular(stat);
  if (error == 0) *file = std::move(opened);
  return error;
}

int OpenNew(int root, const std::string& path, uint32_t permissions, Descriptor* file) {
  Descriptor opened;
  int error = OpenBeneath(root, path, O_RDWR | O_CREAT | O_EXCL | kCommonFlags, permissions, &opened);
  if (error == 0) error = GivePermissions(opened.get(), permissions);
  if (error == 0) *file = std::move(opened);
  return error;
}

}  // namespace

int OpenFile(int root, const std::string& path, OpenMode mode, uint32_t permissions, Descriptor* file) {
  if (mode == OpenMode::kRead) return OpenExisting(root, path, O_RDONLY, file);
  if (mode == OpenMode::kWrite) return OpenExisting(root, path, O_RDWR, file);
  if (mode == OpenMode::kCreateNew) return OpenNew(root, path, permissions, file);
  int error = EEXIST;
  for (int attempt = 0; attempt < kOpenAttemptsMax && error == EEXIST; ++attempt) {
    error = OpenExisting(root, path, O_RDWR, file);
    if (error != ENOENT) return error;
    error = OpenNew(root, path, permissions, file);
  }
  return error;
}

}  // namespace runnel
