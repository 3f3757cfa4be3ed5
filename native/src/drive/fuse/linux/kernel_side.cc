#include "src/drive/fuse/kernel_side.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

extern char** environ;

namespace runnel::drive {
namespace {

constexpr const char* kNoFusermount = "fusermount3 is missing or may not be run: install the package `fuse3`.";

// Names in mountinfo have blanks and backslashes as octal numbers.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

bool IsInstalled(const std::string& program) {
  const char* path = getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

struct Ran {
  bool has_run = false;
  bool is_fine = false;
  std::string said;  // on standard error
};

// Waits for its end. `arguments` begin with its name and end with a null pointer.
Ran RunProgram(const std::vector<const char*>& arguments) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  Ran ran;
  ran.has_run =
      posix_spawnp(&child, arguments[0], &actions, nullptr, const_cast<char* const*>(arguments.data()), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (ran.has_run) {
    char bytes[512];
    for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof(bytes))) != 0;) {
      if (count > 0) ran.said.append(bytes, static_cast<size_t>(count));
      if (count < 0 && errno != EINTR) break;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    ran.is_fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  close(ends[0]);
  return ran;
}

// "PROGRAM: failed to open /etc/mtab: REASON\n" without the program. It has no other way of saying why.
std::string ReasonIn(const std::string& said) {
  const std::string line = said.substr(0, said.find('\n'));
  const size_t begin = line.find(": ");
  return begin == std::string::npos ? line : line.substr(begin + 2);
}

KernelFront::Ending EndingFor(const std::string& by, const std::string& reason) {
  if (reason.ends_with(std::generic_category().message(EBUSY))) return {false, ""};
  return {false, by + " did not unmount the drive: " + (reason.empty() ? "it does not say why" : reason) + "."};
}

}  // namespace

int KickSignal() { return SIGRTMIN + 5; }

clockid_t BootClock() { return CLOCK_BOOTTIME; }

clockid_t KernelClock() { return CLOCK_MONOTONIC; }

std::string WhyNoFuse(const KernelFront::Settings& settings) {
  if (settings.uses_fskit) return "FSKit is of macOS: mount without it.";
  return access("/dev/fuse", F_OK) == 0
             ? ""
             : "This system has no FUSE (/dev/fuse is missing): load the kernel module `fuse` first.";
}

std::string WhyDead(int error) {
  return error == ENOTCONN ? "A drive that was mounted here has ended without unmounting: run `fusermount3 -u -z` on "
                             "the folder first."
                           : "";
}

std::string WhyNotMounted() {
  if (geteuid() != 0) {
    if (access("/dev/fuse", R_OK | W_OK) != 0)
      return "This user may not open /dev/fuse: let an administrator grant it, usually with `chmod 666 /dev/fuse`.";
    if (!IsInstalled("fusermount3")) return kNoFusermount;
  }
  return "FUSE could not mount here: the last lines of the agent's log say why.";
}

std::vector<std::string> OptionsFor(const KernelFront::Settings& settings) {
  std::vector<std::string> options = {"default_permissions", "subtype=runnel", "fsname=" + settings.source};
  if (geteuid() == 0) options.push_back("allow_other");
  if (settings.is_read_only) options.push_back("ro");
  return options;
}

// Mounts as libfuse does for root, who alone may: but libfuse and fusermount3 look at the place first, where a dead
// mount answers ENOTCONN.
bool MountOver(const KernelFront::Settings& settings, const std::string& mountpoint, std::string* mounted) {
  if (geteuid() != 0) return false;
  const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const unsigned long flags = MS_NOSUID | MS_NODEV | (settings.is_read_only ? MS_RDONLY : 0);
  const std::string options =
      "fd=" + std::to_string(fd) + ",rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other";
  if (mount(settings.source.c_str(), mountpoint.c_str(), "fuse.runnel", flags, options.c_str()) != 0) {
    close(fd);
    return false;
  }
  *mounted = "/dev/fd/" + std::to_string(fd);
  return true;
}

// The device of a mount, "major:minor".
std::string DeviceAt(const std::string& mountpoint) {
  std::string found;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, at;
    fields >> id >> parent >> device >> root >> at;
    if (Unescape(at) == mountpoint) found = device;  // the last one is on top
  }
  return found;
}

KernelFront::Ending UnmountAt(const std::string& mountpoint, bool force) {
  if (geteuid() == 0) {
    if (umount2(mountpoint.c_str(), UMOUNT_NOFOLLOW | (force ? MNT_DETACH : 0)) == 0) return {true, ""};
    return EndingFor("The system", std::generic_category().message(errno));
  }
  const Ran ran = RunProgram({"fusermount3", "-u", mountpoint.c_str(), force ? "-z" : nullptr, nullptr});
  if (!ran.has_run) return {false, kNoFusermount};
  return ran.is_fine ? KernelFront::Ending{true, ""} : EndingFor("fusermount3", ReasonIn(ran.said));
}

}  // namespace runnel::drive
