// The options that macFUSE is mounted with, and the places where it is not: decided here, where nothing of macOS is
// needed.
#ifndef RUNNEL_DRIVE_FUSE_MOUNT_OPTIONS_H_
#define RUNNEL_DRIVE_FUSE_MOUNT_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace runnel::drive {

struct MacFuseMount {
  std::string source;  // "runnel:docs"
  bool is_root = false;
  bool is_read_only = false;
  bool uses_fskit = false;
};

// `local` is not among them: Spotlight would read a drive whole, which it leaves alone as a volume of the network.
inline std::vector<std::string> MacFuseOptions(const MacFuseMount& mount) {
  // macFUSE ends a mount that leaves a request unanswered for so long, a minute unless told. A large save over a narrow
  // link takes longer; ten minutes are the most.
  constexpr const char* kDaemonTimeout = "daemon_timeout=600";
  // All of it where there is no colon.
  const std::string name = mount.source.substr(mount.source.find(':') + 1);
  std::vector<std::string> options = {"default_permissions", "fsname=" + mount.source, "volname=" + name,
                                      kDaemonTimeout};
  if (mount.is_root) options.push_back("allow_other");
  if (mount.is_read_only) options.push_back("rdonly");
  if (mount.uses_fskit) options.push_back("backend=fskit");
  return options;
}

// Says what to do where FSKit mounts no drive; "": it mounts one there. `mountpoint` is absolute.
inline std::string WhyNotByFsKit(std::string_view mountpoint) {
  constexpr std::string_view kVolumes = "/Volumes/";
  if (mountpoint.size() > kVolumes.size() && mountpoint.substr(0, kVolumes.size()) == kVolumes) return "";
  return "With FSKit a drive is mounted below /Volumes: choose a folder there.";
}

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_MOUNT_OPTIONS_H_
