// Names and numbers that systems have differently, for the requests of a kernel.
#ifndef RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_
#define RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_

#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <string_view>

namespace runnel::drive {

inline timespec& AccessTimeOf(struct stat& stat) { return stat.st_atim; }
inline timespec& WriteTimeOf(struct stat& stat) { return stat.st_mtim; }
inline timespec& ChangeTimeOf(struct stat& stat) { return stat.st_ctim; }

constexpr unsigned kRenameKeeps = RENAME_NOREPLACE;
constexpr unsigned kRenameExchanges = RENAME_EXCHANGE;

// The error of an extended attribute that is not there.
constexpr int kNoAttributeErrno = ENODATA;

// The prefix of the name of an extended attribute on a volume, and not in a request.
constexpr std::string_view kXattrPrefix = "";

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FILE_DETAILS_H_
