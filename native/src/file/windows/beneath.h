// Finding the way beneath a root without following symlinks or junctions.
#ifndef RUNNEL_FILE_WINDOWS_BENEATH_H_
#define RUNNEL_FILE_WINDOWS_BENEATH_H_

#include <cstdint>
#include <string>

#include "calls.h"
#include "src/file/descriptor.h"

namespace runnel {

// The way to open something: NtCreateFile's access, disposition and options. SYNCHRONIZE, synchronous calls and the
// reparse point itself are always added, and everything is shared, also for removal: locks are not decided here.
struct Opening {
  uint32_t access = FILE_READ_ATTRIBUTES;
  uint32_t disposition = 1;  // FILE_OPEN
  uint32_t options = 0;
};

// ENOTDIR for a file on the way, ELOOP for a symlink (by the system, from Windows 10 1709 on). EINVAL for a name with
// ":" or "\", which would be a stream or a path.
int OpenBeneath(int root, const std::string& path, const Opening& opening, Descriptor* opened);

// The folder and the name of a path's last part, for calls that take these two.
struct Place {
  Descriptor folder;
  std::wstring name;
};

// EINVAL for "", which has no name.
int FindPlace(int root, const std::string& path, Place* place);

}  // namespace runnel

#endif  // RUNNEL_FILE_WINDOWS_BENEATH_H_
