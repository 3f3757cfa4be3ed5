#include "kinds.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace runnel::drive {
namespace {

constexpr std::string_view kNames[] = {
    "",          "NotFound",    "Unknown",     "Stale",          "Gone",        "Exists",      "NotEmpty",
    "NoSpace",   "Quota",       "Denied",      "Revoked",        "TooLarge",    "BadName",     "Busy",
    "Corrupt",   "Epoch",       "Version",     "Invalid",        "Unreachable", "Interrupted", "ReadOnly",
    "NotFolder", "IsFolder",    "Unsupported", "Unavailable",    "Lost",        "Io",          "NameTooLong",
    "LinkLoop",  "NoAttribute", "PastEnd",     "BufferTooSmall", "TooManyOpen",
};
static_assert(std::size(kNames) == static_cast<size_t>(Kind::kCount));

}  // namespace

std::string_view NameOf(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

Kind KindNamed(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? Kind::kIo : static_cast<Kind>(found - kNames);
}

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
    case EMFILE:
    case ENFILE: return Kind::kTooManyOpen;
    default: return KindOfSystemErrno(error);
  }
}

}  // namespace runnel::drive
