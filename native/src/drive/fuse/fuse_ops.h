// libfuse's callbacks: each turns a kernel request into one call of the core.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_OPS_H_
#define RUNNEL_DRIVE_FUSE_FUSE_OPS_H_

#include "fuse_api.h"

namespace runnel::drive {

// Operations that are missing are answered ENOSYS, after which the kernel does without: extended attributes, locks (the
// kernel's own are right while there are none across clients), fallocate, lseek for data and holes, copy_file_range.
fuse_lowlevel_ops FuseOps();

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FUSE_OPS_H_
