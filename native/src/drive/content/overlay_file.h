// Files of cache and overlays, which the agent names by paths. What a system does in its own way is in system/.
//
// All block and are safe to call from any thread. Each answers the kind of its failure, or kNone.
#ifndef RUNNEL_DRIVE_CONTENT_OVERLAY_FILE_H_
#define RUNNEL_DRIVE_CONTENT_OVERLAY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/drive/kinds.h"

namespace runnel::drive {

// Descriptors are the caller's, to be closed by CloseOverlay.
Kind OpenContentFile(const std::string& path, int* fd);  // to be read only
Kind MakeOverlayFile(const std::string& path, int* fd);  // a new one, of nobody else
Kind OpenOverlayFile(const std::string& path, int* fd);  // one that was made, to be read and written
void RemoveOverlayFile(const std::string& path);
void CloseOverlay(int fd);

// All of it, or EIO where the file is shorter.
Kind ReadOverlay(int fd, uint64_t offset, char* to, size_t length);
// After a failure `written` says how much is known to have been taken before it.
Kind WriteOverlay(int fd, uint64_t offset, const char* data, size_t size, size_t* written);
// Takes the disk's space for a range, as far as the file system can; the file is as long as before.
Kind ReserveOverlay(int fd, uint64_t offset, uint64_t length);
// The range reads as zeros, and is a hole where there can be one; the file ends no earlier than it.
Kind ZeroOverlay(int fd, uint64_t offset, uint64_t end);

// Bytes of disk that the file takes; 0 when that cannot be known.
uint64_t AllocatedBytesOf(int fd);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CONTENT_OVERLAY_FILE_H_
