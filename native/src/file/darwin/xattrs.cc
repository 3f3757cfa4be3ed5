// Extended attributes. macOS has one kind only and no prefix for it; elsewhere the same attribute is called user.NAME.
#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

#include "calls.h"
#include "src/file/root.h"
#include "src/file/utf8.h"

// Declared like <sys/xattr.h>, which is not among the headers of macOS that zig brings.
extern "C" {
ssize_t fgetxattr(int fd, const char* name, void* value, size_t size, uint32_t position, int options);
ssize_t flistxattr(int fd, char* names, size_t size, int options);
int fsetxattr(int fd, const char* name, const void* value, size_t size, uint32_t position, int options);
int fremovexattr(int fd, const char* name, int options);
}

namespace runnel {

namespace {

constexpr char kUser[] = "user.";
constexpr size_t kUserBytes = sizeof(kUser) - 1;

// Opens a file or a folder. Anything else has no attributes: `has_any` is false and nothing is open.
int OpenForXattrs(int root, const std::string& path, Descriptor* opened, bool* has_any) {
  struct stat stat;
  const int error = StatPlace(root, path, &stat);
  if (error != 0) return error;
  *has_any = S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode);
  return *has_any ? OpenBeneath(root, path, O_RDONLY | O_NONBLOCK, 0, opened) : 0;
}

int ReadAll(int fd, std::vector<Xattr>* xattrs) {
  const ssize_t room = flistxattr(fd, nullptr, 0, 0);
  if (room < 0) return errno == ENOTSUP ? 0 : errno;
  std::vector<char> names(static_cast<size_t>(room));
  const ssize_t length = flistxattr(fd, names.data(), names.size(), 0);
  if (length < 0) return errno;
  for (const char* name = names.data(); name < names.data() + length; name += std::strlen(name) + 1) {
    const ssize_t size = fgetxattr(fd, name, nullptr, 0, 0, 0);
    std::vector<uint8_t> value(size < 0 ? 0 : static_cast<size_t>(size));
    if (size < 0 || !IsUtf8(name)) continue;
    const ssize_t got = fgetxattr(fd, name, value.data(), value.size(), 0, 0);
    if (got < 0) continue;
    value.resize(static_cast<size_t>(got));
    xattrs->push_back({kUser + std::string(name), std::move(value)});
  }
  return 0;
}

// Nothing of another prefix can be kept.
bool StripPrefix(const std::string& name, std::string* bare) {
  if (name.compare(0, kUserBytes, kUser) != 0) return false;
  *bare = name.substr(kUserBytes);
  return true;
}

}  // namespace

int XattrsOf(int root, const std::string& path, std::vector<Xattr>* xattrs) {
  Descriptor opened;
  bool has_any = false;
  const int error = OpenForXattrs(root, path, &opened, &has_any);
  return error != 0 || !has_any ? error : ReadAll(opened.get(), xattrs);
}

int SetXattr(int root, const std::string& path, const std::string& name, const uint8_t* value, size_t length) {
  Descriptor opened;
  bool has_any = false;
  std::string bare;
  int error = OpenForXattrs(root, path, &opened, &has_any);
  if (error != 0) return error;
  if (!has_any || !StripPrefix(name, &bare)) return EPERM;
  error = Try([&] { return fsetxattr(opened.get(), bare.c_str(), value, length, 0, 0); });
  return error == E2BIG || error == ERANGE ? EFBIG : error;
}

int RemoveXattr(int root, const std::string& path, const std::string& name) {
  Descriptor opened;
  bool has_any = false;
  std::string bare;
  int error = OpenForXattrs(root, path, &opened, &has_any);
  if (error != 0 || !has_any || !StripPrefix(name, &bare)) return error;
  error = Try([&] { return fremovexattr(opened.get(), bare.c_str(), 0); });
  return error == ENOATTR ? 0 : error;
}

int CopyXattrs(int root, const std::string& from, const std::string& to) {
  std::vector<Xattr> xattrs;
  int error = XattrsOf(root, from, &xattrs);
  if (error != 0) return error;
  // Some belong to the system and may not be set: it gives a new file its own.
  for (const Xattr& xattr : xattrs) {
    error = SetXattr(root, to, xattr.name, xattr.value.data(), xattr.value.size());
    if (error == ENOENT) return error;
  }
  return 0;
}

}  // namespace runnel
