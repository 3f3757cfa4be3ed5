// The names in a folder, without looking at what they name.
#ifndef RUNNEL_FILE_POSIX_FOLDER_NAMES_H_
#define RUNNEL_FILE_POSIX_FOLDER_NAMES_H_

#include <functional>

namespace runnel {

// Takes a name and its type, a DT_ constant that may be DT_UNKNOWN; returns 0 or an errno number that ends it.
using TakeName = std::function<int(const char* name, int type)>;

// Calls `take` for what one system call gives, but "." and "..". `is_end` says that there was nothing more. Each system
// has its own.
int ReadSomeNames(int folder, bool* is_end, const TakeName& take);

}  // namespace runnel

#endif  // RUNNEL_FILE_POSIX_FOLDER_NAMES_H_
