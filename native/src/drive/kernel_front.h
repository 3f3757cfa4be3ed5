// A drive that a kernel shows to programs. Each system makes its own: fuse/ (Linux, macOS) or winfsp/.
#ifndef RUNNEL_DRIVE_KERNEL_FRONT_H_
#define RUNNEL_DRIVE_KERNEL_FRONT_H_

#include <functional>
#include <memory>
#include <string>

#include "src/drive/core/drive_core.h"

namespace runnel::drive {

class KernelFront {
 public:
  struct Settings {
    std::string mountpoint;
    std::string source;
    bool is_read_only = false;
    bool uses_fskit = false;     // of macOS: without a kernel extension
    bool replaces_dead = false;  // at the mount point there is a mount whose process has ended
  };

  struct Ending {
    bool is_done = false;
    std::string problem;  // a sentence for a person when the system failed; "" when programs use the mount
  };

  // Must not run before Close or EndNow has ended the mount, or Start has failed.
  virtual ~KernelFront() = default;

  virtual DriveCore& core() = 0;
  // Mounts and starts the threads. An empty string, or a sentence for a person. The notice kReady follows, or
  // kUnmounted.
  virtual std::string Start() = 0;
  // Calls `done` on a thread of its own: is_done when unmounted and all threads but that one have ended; else the mount
  // goes on as before. Not while another close is under way.
  virtual void Close(bool force, std::function<void(Ending)> done) = 0;
  // Ends the mount on the caller's thread, whoever uses it, for when nobody is left to answer. Waits for all threads.
  virtual void EndNow() = 0;
};

// nullptr where Runnel cannot map drives. `wake_agent` is called from any thread, under the core's locks.
std::unique_ptr<KernelFront> MakeKernelFront(KernelFront::Settings settings, CoreSettings core_settings,
                                             std::function<void()> wake_agent);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_KERNEL_FRONT_H_
