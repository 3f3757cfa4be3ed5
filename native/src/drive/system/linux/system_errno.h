// The system's error numbers as the drive's, which are those of Linux, and back.
#ifndef RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_
#define RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_

namespace runnel::drive {

inline int DriveErrno(int system_error) { return system_error; }
inline int SystemErrno(int error) { return error; }

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_SYSTEM_SYSTEM_ERRNO_H_
