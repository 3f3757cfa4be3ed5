// Error numbers inside the drive are those of Linux, which the agent speaks (ERRNO_OF_KIND in shared/src/errors.ts). Here they are the system's.
#ifndef RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_
#define RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_

#include <cerrno>

#endif  // RUNNEL_DRIVE_SYSTEM_ERROR_NUMBERS_H_
