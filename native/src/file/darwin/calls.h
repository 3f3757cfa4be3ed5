// Shared by the macOS files of this folder: lstat read into a Stat. macOS has no descriptors for reference only
// (O_PATH), so what a path names is always a folder's descriptor and a name in it.
#ifndef RUNNEL_FILE_DARWIN_CALLS_H_
#define RUNNEL_FILE_DARWIN_CALLS_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/file/posix/attributes.h"
#include "src/file/posix/beneath.h"
#include "src/file/posix/retry.h"

namespace runnel {

Stat StatFrom(const struct stat& from);

// Device, number, and the time when it was made: APFS uses no number twice, older file systems do.
std::vector<uint8_t> HandleFrom(const struct stat& from);

// FindPlace, but "" is the root itself, named "." in it.
int FindAnyPlace(int root, const std::string& path, Place* place);

// lstat(2) of what a path names.
int StatPlace(int root, const std::string& path, struct stat* stat);

}  // namespace runnel

#endif  // RUNNEL_FILE_DARWIN_CALLS_H_
