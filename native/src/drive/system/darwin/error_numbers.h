// Error numbers inside the drive are those of Linux, which the agent speaks (ERRNO_OF_KIND in shared/src/errors.ts). macOS has other numbers: what
// includes this must not ask for its errno. The front turns them into the system's (system_errno.h).
#ifndef RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_
#define RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_

#include <cerrno>

// include/uapi/asm-generic/errno-base.h and errno.h. Up to ERANGE but EAGAIN and EDEADLK they are the same.
#undef EAGAIN
#undef EDEADLK
#undef ENAMETOOLONG
#undef ENOSYS
#undef ENOTEMPTY
#undef ELOOP
#undef ENODATA
#undef EOVERFLOW
#undef EILSEQ
#undef EOPNOTSUPP
#undef ENOTCONN
#undef ETIMEDOUT
#undef ESTALE
#undef EDQUOT
#define EAGAIN 11
#define EDEADLK 35
#define ENAMETOOLONG 36
#define ENOSYS 38
#define ENOTEMPTY 39
#define ELOOP 40
#define ENODATA 61
#define EOVERFLOW 75
#define EILSEQ 84
#define EOPNOTSUPP 95
#define ENOTCONN 107
#define ETIMEDOUT 110
#define ESTALE 116
#define EDQUOT 122

#endif  // RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_
