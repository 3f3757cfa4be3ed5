// Writing a file as a whole, of the operations that each system has.
#include <cerrno>

#include "file.h"
#include "root.h"

namespace runnel {

namespace {

// The file system has no such attribute, or its rules forbid it.
bool IsRefusal(int error) {
  return error == EPERM || error == EACCES || error == EOPNOTSUPP || error == ENOTSUP || error == EINVAL;
}

bool IsNothing(const StatChange& change) {
  return !change.has_mode && !change.has_uid && !change.has_gid && !change.has_mtime;
}

}  // namespace

int WriteFileAt(int root, const WholeFile& whole, Descriptor* file) {
  int error = OpenFile(root, whole.path, whole.mode, whole.permissions, file);
  if (error == 0 && whole.mode != OpenMode::kCreateNew) error = Truncate(file->get(), 0);
  if (error == 0) error = WriteAt(file->get(), 0, whole.bytes, whole.length);
  if (error == 0 && !IsNothing(whole.stat)) {
    error = ChangeStat(file->get(), whole.stat);
    if (IsRefusal(error)) error = 0;
  }
  return error == 0 && whole.is_synced ? Sync(file->get(), false) : error;
}

}  // namespace runnel
