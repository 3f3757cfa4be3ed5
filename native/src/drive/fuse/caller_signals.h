// Decides what a program that was interrupted while it waits for the drive is to be told. A local disk lets a signal
// that a program handles wait until the call is done; only one that ends the program, or that a person sent to end it,
// makes the call fail.
#ifndef RUNNEL_DRIVE_FUSE_CALLER_SIGNALS_H_
#define RUNNEL_DRIVE_FUSE_CALLER_SIGNALS_H_

#include <sys/types.h>

namespace runnel::drive {

// True when a signal is pending for the thread that ends it, or is one of INT, TERM, HUP and QUIT, handled or not. Also
// true when the thread cannot be looked at: it is gone, or of another pid namespace (Linux), or nobody may look at
// signals (macOS).
bool IsToEnd(pid_t thread);

// True for a process that a signal has ended and that closes its files now, which no signal interrupts.
bool WasKilled(pid_t pid);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_CALLER_SIGNALS_H_
