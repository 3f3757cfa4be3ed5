// The system's error numbers as the drive's, which are those of Linux, and back.
#ifndef RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_
#define RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_

namespace runnel::drive {

// EIO for what has no better number.
int DriveErrno(int system_error);
int SystemErrno(int error);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_
