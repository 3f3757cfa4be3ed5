#include "beneath.h"

#include <cerrno>
#include <climits>
#include <utility>

namespace runnel {

int OpenBeneath(int root, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened) {
  Descriptor folder;
  size_t from = 0;
  while (path.size() - from >= PATH_MAX) {
    const size_t slash = path.rfind('/', from + PATH_MAX - 1);
    if (slash == std::string::npos || slash <= from) return ENAMETOOLONG;
    Descriptor next;
    const std::string part = path.substr(from, slash - from);
    const int error = OpenPart(folder.is_open() ? folder.get() : root, part, kFolderReference, 0, &next);
    if (error != 0) return error;
    folder = std::move(next);
    from = slash + 1;
  }
  const std::string rest = path.empty() ? "." : path.substr(from);
  return OpenPart(folder.is_open() ? folder.get() : root, rest, flags, permissions, opened);
}

int FindPlace(int root, const std::string& path, Place* place) {
  if (path.empty()) return EINVAL;
  const size_t slash = path.rfind('/');
  const bool is_top = slash == std::string::npos;
  place->name = is_top ? path : path.substr(slash + 1);
  return OpenBeneath(root, is_top ? std::string() : path.substr(0, slash), kFolderReference, 0, &place->folder);
}

}  // namespace runnel
