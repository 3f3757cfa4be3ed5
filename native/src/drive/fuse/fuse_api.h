// libfuse's low-level API, the version this front is written for. macFUSE's has extensions of its own, which are not
// asked for.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_API_H_
#define RUNNEL_DRIVE_FUSE_FUSE_API_H_

#define FUSE_USE_VERSION 314
#define FUSE_DARWIN_ENABLE_EXTENSIONS 0
#include <fuse_lowlevel.h>

#endif  // RUNNEL_DRIVE_FUSE_FUSE_API_H_
