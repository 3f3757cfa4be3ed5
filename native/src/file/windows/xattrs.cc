// Extended attributes: Windows has none that programs use, so there are none to read and none can be set.
#include <cerrno>

#include "src/file/root.h"

namespace runnel {

int XattrsOf(int root, const std::string& path, std::vector<Xattr>* xattrs) {
  xattrs->clear();
  Stat stat;
  return StatPath(root, path, &stat);
}

int SetXattr(int, const std::string&, const std::string&, const uint8_t*, size_t) { return EOPNOTSUPP; }

int RemoveXattr(int, const std::string&, const std::string&) { return EOPNOTSUPP; }

int CopyXattrs(int, const std::string&, const std::string&) { return 0; }

}  // namespace runnel
