// The answer to a kernel that speaks FUSE for each kind of failure.
#ifndef RUNNEL_DRIVE_FUSE_TO_ERRNO_H_
#define RUNNEL_DRIVE_FUSE_TO_ERRNO_H_

#include "src/drive/kinds.h"

namespace runnel::drive {

int ToErrno(Kind kind);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_TO_ERRNO_H_
