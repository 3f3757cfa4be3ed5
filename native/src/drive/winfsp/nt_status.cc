#include "nt_status.h"

namespace runnel::drive {

// Each is what NTFS or a network share answers in that case, so that programs know what to do.
NTSTATUS ToNtStatus(Kind kind) {
  switch (kind) {
    case Kind::kNone: return STATUS_SUCCESS;
    case Kind::kNotFound: return STATUS_OBJECT_NAME_NOT_FOUND;
    case Kind::kStale:
      // An open handle leads nowhere any longer: "the file has been externally altered so that the opened file is no
      // longer valid".
      return STATUS_FILE_INVALID;
    case Kind::kExists: return STATUS_OBJECT_NAME_COLLISION;
    case Kind::kNotEmpty: return STATUS_DIRECTORY_NOT_EMPTY;
    case Kind::kNoSpace: return STATUS_DISK_FULL;
    case Kind::kQuota: return STATUS_QUOTA_EXCEEDED;
    case Kind::kDenied:
    case Kind::kRevoked: return STATUS_ACCESS_DENIED;
    case Kind::kTooLarge: return STATUS_FILE_TOO_LARGE;
    case Kind::kBadName:
    case Kind::kInvalid:
    case Kind::kPastEnd: return STATUS_INVALID_PARAMETER;
    case Kind::kBusy: return STATUS_SHARING_VIOLATION;
    case Kind::kUnreachable:
      // "The network location cannot be reached."
      return STATUS_NETWORK_UNREACHABLE;
    case Kind::kUnavailable:
      // "The file is temporarily unavailable."
      return STATUS_FILE_NOT_AVAILABLE;
    case Kind::kInterrupted: return STATUS_CANCELLED;
    case Kind::kReadOnly: return STATUS_MEDIA_WRITE_PROTECTED;
    case Kind::kNotFolder: return STATUS_NOT_A_DIRECTORY;
    case Kind::kIsFolder: return STATUS_FILE_IS_A_DIRECTORY;
    case Kind::kUnsupported: return STATUS_NOT_SUPPORTED;
    case Kind::kNameTooLong: return STATUS_NAME_TOO_LONG;
    case Kind::kLinkLoop: return STATUS_REPARSE_POINT_NOT_RESOLVED;
    case Kind::kBufferTooSmall: return STATUS_BUFFER_TOO_SMALL;
    case Kind::kTooManyOpen: return STATUS_TOO_MANY_OPENED_FILES;
    // Programs know no better word.
    case Kind::kUnknown:
    case Kind::kGone:
    case Kind::kCorrupt:
    case Kind::kEpoch:
    case Kind::kVersion:
    case Kind::kLost:
    case Kind::kIo:
    case Kind::kNoAttribute:
    case Kind::kCount: return STATUS_IO_DEVICE_ERROR;
  }
  return STATUS_IO_DEVICE_ERROR;
}

}  // namespace runnel::drive
