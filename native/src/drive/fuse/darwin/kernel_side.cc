// macFUSE 5: its kernel extension, or FSKit (macOS 15.4 and later), which mounts below /Volumes only.
#include "src/drive/fuse/kernel_side.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "mount_options.h"

namespace runnel::drive {
namespace {

constexpr const char* kMacFuse = "/Library/Filesystems/macfuse.fs";

}  // namespace

// No system sends it: macOS has no emulator.
int KickSignal() { return SIGEMT; }

// That of libuv, which JavaScript's process.hrtime asks.
clockid_t BootClock() { return CLOCK_MONOTONIC_RAW; }

clockid_t KernelClock() { return CLOCK_UPTIME_RAW; }

std::string WhyNoFuse(const KernelFront::Settings& settings) {
  if (access(kMacFuse, F_OK) != 0)
    return "macFUSE is not installed: install macFUSE 5 or newer from https://macfuse.io, then try again.";
  return settings.uses_fskit ? WhyNotByFsKit(settings.mountpoint) : "";
}

std::string WhyDead(int) { return ""; }

std::string WhyNotMounted() {
  return "macFUSE could not mount here: allow its extension in the system settings (Privacy & Security), then try "
         "again; the last lines of the agent's log say more.";
}

std::vector<std::string> OptionsFor(const KernelFront::Settings& settings) {
  return MacFuseOptions({settings.source, geteuid() == 0, settings.is_read_only, settings.uses_fskit});
}

bool MountOver(const KernelFront::Settings&, const std::string&, std::string*) { return false; }

std::string DeviceAt(const std::string& mountpoint) {
  struct statfs* mounts = nullptr;
  std::string found;
  // The table belongs to the C library, and is this thread's only.
  const int count = getmntinfo_r_np(&mounts, MNT_NOWAIT);
  for (int i = 0; i < count; ++i) {
    if (mountpoint != mounts[i].f_mntonname) continue;
    found = std::to_string(mounts[i].f_fsid.val[0]) + ":" + std::to_string(mounts[i].f_fsid.val[1]);
  }
  free(mounts);
  return found;
}

KernelFront::Ending UnmountAt(const std::string& mountpoint, bool force) {
  if (unmount(mountpoint.c_str(), force ? MNT_FORCE : 0) == 0) return {true, ""};
  if (errno == EBUSY) return {false, ""};
  return {false, "macOS did not unmount the drive: " + std::generic_category().message(errno) + "."};
}

}  // namespace runnel::drive
