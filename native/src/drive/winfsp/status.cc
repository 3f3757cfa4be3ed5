#include "status.h"

#include "error_numbers.h"

namespace runnel::drive {

// Each is what NTFS or a network share answers in that case, so that programs know what to do.
NTSTATUS StatusOf(int error) {
  switch (error) {
    case 0:
      return STATUS_SUCCESS;
    case EPERM:
    case EACCES:
      return STATUS_ACCESS_DENIED;
    case ENOENT:
      return STATUS_OBJECT_NAME_NOT_FOUND;
    case EINTR:
      return STATUS_CANCELLED;
    case EBADF:
      return STATUS_INVALID_HANDLE;
    case ENOMEM:
      return STATUS_INSUFFICIENT_RESOURCES;
    case EBUSY:
      return STATUS_SHARING_VIOLATION;
    case EEXIST:
      return STATUS_OBJECT_NAME_COLLISION;
    case EXDEV:
      return STATUS_NOT_SAME_DEVICE;
    case ENOTDIR:
      return STATUS_NOT_A_DIRECTORY;
    case EISDIR:
      return STATUS_FILE_IS_A_DIRECTORY;
    case EINVAL:
      return STATUS_INVALID_PARAMETER;
    case EMFILE:
      return STATUS_TOO_MANY_OPENED_FILES;
    case EFBIG:
      return STATUS_FILE_TOO_LARGE;
    case ENOSPC:
      return STATUS_DISK_FULL;
    case EROFS:
      return STATUS_MEDIA_WRITE_PROTECTED;
    case EMLINK:
      return STATUS_TOO_MANY_LINKS;
    case ENAMETOOLONG:
      return STATUS_NAME_TOO_LONG;
    case ENOTEMPTY:
      return STATUS_DIRECTORY_NOT_EMPTY;
    case ELOOP:
      return STATUS_REPARSE_POINT_NOT_RESOLVED;
    case EILSEQ:
      return STATUS_OBJECT_NAME_INVALID;
    case EOPNOTSUPP:
      return STATUS_NOT_SUPPORTED;
    case ENOTCONN:
      return STATUS_CONNECTION_DISCONNECTED;
    case ETIMEDOUT:
      return STATUS_IO_TIMEOUT;
    case ESTALE:
      // What is open leads nowhere any longer: "the file has been externally altered so that the opened file is no longer valid".
      return STATUS_FILE_INVALID;
    case EDQUOT:
      return STATUS_QUOTA_EXCEEDED;
    default:
      return STATUS_IO_DEVICE_ERROR;
  }
}

}  // namespace runnel::drive
