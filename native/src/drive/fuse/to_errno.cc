#include "to_errno.h"

#include <cerrno>

#include "file_details.h"

namespace runnel::drive {

int ToErrno(Kind kind) {
  switch (kind) {
    case Kind::kNone: return 0;
    case Kind::kNotFound: return ENOENT;
    case Kind::kStale: return ESTALE;
    case Kind::kExists: return EEXIST;
    case Kind::kNotEmpty: return ENOTEMPTY;
    case Kind::kNoSpace: return ENOSPC;
    case Kind::kQuota: return EDQUOT;
    case Kind::kDenied:
    case Kind::kRevoked: return EACCES;
    case Kind::kTooLarge: return EFBIG;
    case Kind::kBadName:
    case Kind::kInvalid: return EINVAL;
    case Kind::kBusy: return EBUSY;
    case Kind::kInterrupted: return EINTR;
    case Kind::kReadOnly: return EROFS;
    case Kind::kNotFolder: return ENOTDIR;
    case Kind::kIsFolder: return EISDIR;
    case Kind::kUnsupported: return EOPNOTSUPP;
    case Kind::kNameTooLong: return ENAMETOOLONG;
    case Kind::kLinkLoop: return ELOOP;
    case Kind::kNoAttribute: return kNoAttributeErrno;
    case Kind::kPastEnd: return ENXIO;
    case Kind::kBufferTooSmall: return ERANGE;
    // Programs of POSIX know no better word.
    case Kind::kUnknown:
    case Kind::kGone:
    case Kind::kCorrupt:
    case Kind::kEpoch:
    case Kind::kVersion:
    case Kind::kUnreachable:
    case Kind::kUnavailable:
    case Kind::kLost:
    case Kind::kIo:
    case Kind::kTooManyOpen:
    case Kind::kCount: return EIO;
  }
  return EIO;
}

}  // namespace runnel::drive
