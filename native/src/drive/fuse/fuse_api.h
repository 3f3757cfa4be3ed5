// libfuse's low-level API, the version this front is written for.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_API_H_
#define RUNNEL_DRIVE_FUSE_FUSE_API_H_

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#endif  // RUNNEL_DRIVE_FUSE_FUSE_API_H_
