// Shared by the Linux files of this folder: changing what a Stat says.
#ifndef RUNNEL_FILE_LINUX_CALLS_H_
#define RUNNEL_FILE_LINUX_CALLS_H_

#include "src/file/posix/attributes.h"
#include "src/file/posix/beneath.h"
#include "src/file/posix/retry.h"

namespace runnel {

// Changes a regular file, folder or special by any descriptor of it, O_PATH too.
int ChangeStatOfReference(int fd, const Stat& now, const StatChange& change);

}  // namespace runnel

#endif  // RUNNEL_FILE_LINUX_CALLS_H_
