// Finding the way beneath a root without following symlinks or leaving its file system.
#ifndef RUNNEL_FILE_LINUX_BENEATH_H_
#define RUNNEL_FILE_LINUX_BENEATH_H_

#include <cstdint>
#include <string>

#include "src/file/descriptor.h"

namespace runnel {

// openat2(2) with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and NO_XDEV. Paths longer than PATH_MAX are walked in
// parts.
int OpenBeneath(int root, const std::string& path, uint64_t flags, uint32_t permissions, Descriptor* opened);

// The folder and the name of a path's last part, for calls that take these two.
struct Place {
  Descriptor folder;
  std::string name;
};

// EINVAL for "", which has no name.
int FindPlace(int root, const std::string& path, Place* place);

}  // namespace runnel

#endif  // RUNNEL_FILE_LINUX_BENEATH_H_
