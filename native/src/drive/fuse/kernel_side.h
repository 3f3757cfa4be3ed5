// The parts of a mount that each system has beside libfuse. linux/ and darwin/ (macFUSE 5) have the same files.
#ifndef RUNNEL_DRIVE_FUSE_KERNEL_SIDE_H_
#define RUNNEL_DRIVE_FUSE_KERNEL_SIDE_H_

#include <string>
#include <vector>

#include <time.h>

#include "fuse_api.h"
#include "src/drive/kernel_front.h"

namespace runnel::drive {

// Ends a read of a session's thread with EINTR; nothing else uses it.
int KickSignal();
// The clock that runs while the machine sleeps, and the one that does not.
clockid_t BootClock();
clockid_t KernelClock();

// A sentence for a person, or "": why nothing can be mounted there, whatever is there.
std::string WhyNoFuse(const KernelFront::Settings& settings);
// The same for a place that stat(2) fails at with this error; "" when it is no matter of FUSE.
std::string WhyDead(int error);
// After libfuse could not mount: what it says itself goes to the agent's log only.
std::string WhyNotMounted();

// Options of `-o`, each by itself.
std::vector<std::string> OptionsFor(const KernelFront::Settings& settings);
// Mounts over a dead mount, which stays beneath, and makes *mounted what fuse_session_mount takes for a mount that is
// there. False where that cannot be done.
bool MountOver(const KernelFront::Settings& settings, const std::string& mountpoint, std::string* mounted);
// Before the first request.
void SetSessionIo(fuse_session* session);
// The mount on top at a place, by a name that no other mount has, or "".
std::string DeviceAt(const std::string& mountpoint);
KernelFront::Ending UnmountAt(const std::string& mountpoint, bool force);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_KERNEL_SIDE_H_
