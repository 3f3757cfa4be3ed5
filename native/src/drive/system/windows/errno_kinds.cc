// Error numbers that src/file answers here, as kinds.
#include <cerrno>

#include "src/drive/kinds.h"

namespace runnel::drive {

Kind KindOfErrno(int error) {
  switch (error) {
    case 0: return Kind::kNone;
    case ENOENT: return Kind::kNotFound;
    case EEXIST: return Kind::kExists;
    case ENOSPC: return Kind::kNoSpace;
    case EPERM:
    case EACCES: return Kind::kDenied;
    case EROFS: return Kind::kReadOnly;
    case EFBIG: return Kind::kTooLarge;
    case EINVAL: return Kind::kInvalid;
    case EBUSY: return Kind::kBusy;
    case ENOTDIR: return Kind::kNotFolder;
    case EISDIR: return Kind::kIsFolder;
    case EOPNOTSUPP: return Kind::kUnsupported;
    case ENAMETOOLONG: return Kind::kNameTooLong;
    case ELOOP: return Kind::kLinkLoop;
    case EMFILE: return Kind::kTooManyOpen;
    default: return Kind::kIo;
  }
}

}  // namespace runnel::drive
