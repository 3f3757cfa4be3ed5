// Names and numbers that systems have differently, for the requests of a kernel.
#ifndef RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_
#define RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include <string_view>

namespace runnel::drive {

inline timespec& AccessTimeOf(struct stat& stat) { return stat.st_atimespec; }
inline timespec& WriteTimeOf(struct stat& stat) { return stat.st_mtimespec; }
inline timespec& ChangeTimeOf(struct stat& stat) { return stat.st_ctimespec; }

constexpr unsigned kRenameKeeps = RENAME_EXCL;
constexpr unsigned kRenameExchanges = RENAME_SWAP;

// The error of an extended attribute that is not there.
constexpr int kNoAttributeErrno = ENOATTR;

// The prefix of the name of an extended attribute on a volume, and not in a request.
constexpr std::string_view kXattrPrefix = "user.";

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_
