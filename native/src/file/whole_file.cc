// Reading and writing a file as a whole, of the operations that each system has.
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "file.h"
#include "root.h"

namespace runnel {

namespace {

constexpr uint64_t kStepBytes = 16384;

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

int ReadFileAt(int root, const std::string& path, uint64_t length_max, std::vector<uint8_t>* bytes) {
  Descriptor file;
  Stat stat;
  int error = OpenFile(root, path, OpenMode::kRead, 0, &file);
  if (error == 0) error = StatFile(file.get(), &stat);
  if (error != 0) return error;
  // The size of the system's own files means nothing.
  uint64_t room = std::max<uint64_t>(stat.size_bytes, kStepBytes);
  for (size_t read = 0;;) {
    size_t count = 0;
    bytes->resize(static_cast<size_t>(std::min(room, length_max)));
    error = ReadAt(file.get(), read, bytes->data() + read, bytes->size() - read, &count);
    read += count;
    const bool is_full = read == bytes->size() && read < length_max;
    if (error != 0 || !is_full) {
      bytes->resize(read);
      return error;
    }
    room += kStepBytes;
  }
}

}  // namespace runnel
