// Error numbers inside the drive are those of Linux, which the agent speaks (ERRNO_OF_KIND in shared/src/errors.ts). Windows' C library has other
// numbers for some names and lacks others: what includes this must not ask for its errno. The front turns them into NTSTATUS.
#ifndef RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_
#define RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_

#include <cerrno>

// include/uapi/asm-generic/errno-base.h and errno.h. Up to ERANGE but ENOTBLK and ETXTBSY they are the same.
#undef EDEADLK
#undef ENAMETOOLONG
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
#define EDEADLK 35
#define ENAMETOOLONG 36
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
