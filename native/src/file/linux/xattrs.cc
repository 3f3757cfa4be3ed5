// Extended attributes of what a path names, by the magic link of an O_PATH descriptor: the f…xattr calls refuse such
// descriptors.
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>

#include "calls.h"
#include "src/file/root.h"
#include "src/file/utf8.h"

namespace runnel {

namespace {

constexpr char kUser[] = "user.";
constexpr char kCapability[] = "security.capability";
constexpr size_t kListBytes = 65536;   // XATTR_LIST_MAX
constexpr size_t kValueBytes = 65536;  // XATTR_SIZE_MAX

class Reference {
 public:
  int Open(int root, const std::string& path) {
    Stat stat;
    int error = OpenReference(root, path, &descriptor_);
    if (error == 0) error = StatAt(descriptor_.get(), "", &stat);
    if (error != 0) return error;
    has_any_ = stat.type == FileType::kFile || stat.type == FileType::kFolder;
    link_ = "/proc/self/fd/" + std::to_string(descriptor_.get());
    return 0;
  }
  // Only files and folders have attributes of users.
  bool has_any() const { return has_any_; }
  const char* link() const { return link_.c_str(); }

 private:
  Descriptor descriptor_;
  std::string link_;
  bool has_any_ = false;
};

// Names that vanish between the calls are left out. A file system without attributes has none.
int ReadAll(const Reference& reference, bool users_only, std::vector<Xattr>* xattrs) {
  if (!reference.has_any()) return 0;
  std::vector<char> names(kListBytes);
  const ssize_t length = listxattr(reference.link(), names.data(), names.size());
  if (length < 0) return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
  std::vector<uint8_t> value(kValueBytes);
  for (const char* name = names.data(); name < names.data() + length; name += strlen(name) + 1) {
    const bool is_users = strncmp(name, kUser, sizeof(kUser) - 1) == 0;
    if (users_only && (!is_users || !IsUtf8(name))) continue;
    const ssize_t size = getxattr(reference.link(), name, value.data(), value.size());
    if (size >= 0) xattrs->push_back({name, {value.begin(), value.begin() + size}});
  }
  return 0;
}

}  // namespace

int XattrsOf(int root, const std::string& path, std::vector<Xattr>* xattrs) {
  Reference reference;
  const int error = reference.Open(root, path);
  return error != 0 ? error : ReadAll(reference, true, xattrs);
}

int SetXattr(int root, const std::string& path, const std::string& name, const uint8_t* value, size_t length) {
  Reference reference;
  int error = reference.Open(root, path);
  if (error != 0) return error;
  error = Try([&] { return setxattr(reference.link(), name.c_str(), value, length, 0); });
  return error == E2BIG || error == ERANGE ? EFBIG : error;
}

int RemoveXattr(int root, const std::string& path, const std::string& name) {
  Reference reference;
  int error = reference.Open(root, path);
  if (error != 0) return error;
  error = Try([&] { return removexattr(reference.link(), name.c_str()); });
  return error == ENODATA ? 0 : error;
}

int CopyXattrs(int root, const std::string& from, const std::string& to) {
  Reference source;
  Reference target;
  int error = source.Open(root, from);
  if (error == 0) error = target.Open(root, to);
  std::vector<Xattr> xattrs;
  if (error == 0) error = ReadAll(source, false, &xattrs);
  if (error != 0) return error;
  // Some belong to the system and may not be set: it gives a new file its own.
  for (const Xattr& xattr : xattrs) {
    // Capabilities of a program were meant for the bytes that it had.
    if (xattr.name == kCapability) continue;
    (void)setxattr(target.link(), xattr.name.c_str(), xattr.value.data(), xattr.value.size(), 0);
  }
  return 0;
}

}  // namespace runnel
