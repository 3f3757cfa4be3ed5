// libfuse's reads and writes of /dev/fuse, so that what it leaves out of its answer to INIT can be put in.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_IO_H_
#define RUNNEL_DRIVE_FUSE_FUSE_IO_H_

#include "fuse_api.h"

namespace runnel::drive {

// For a session whose user data is a FuseFront.
fuse_custom_io FuseIo();

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FUSE_IO_H_
