// macOS shows nobody which signals wait for a process, nor which of them end it.
#include "src/drive/fuse/caller_signals.h"

#include <sys/proc.h>
#include <sys/sysctl.h>

namespace runnel::drive {

bool WasKilled(pid_t pid) {
  constexpr int kSignal = 0x7f;
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
  kinfo_proc process = {};
  size_t size = sizeof(process);
  if (sysctl(name, 4, &process, &size, nullptr, 0) != 0 || size == 0) return true;
  return (process.kp_proc.p_flag & P_WEXIT) != 0 && (process.kp_proc.p_xstat & kSignal) != 0;
}

bool IsToEnd(pid_t) { return true; }

}  // namespace runnel::drive
