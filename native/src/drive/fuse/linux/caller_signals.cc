#include "src/drive/fuse/caller_signals.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace runnel::drive {
namespace {

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }

// Sent by a person or a system that wants the program gone.
constexpr uint64_t kAsksToEnd = Bit(SIGINT) | Bit(SIGTERM) | Bit(SIGHUP) | Bit(SIGQUIT);
// Without a handler they do nothing, or stop and continue (signal(7)).
constexpr uint64_t kHarmless = Bit(SIGCHLD) | Bit(SIGURG) | Bit(SIGWINCH) | Bit(SIGCONT) | Bit(SIGSTOP) | Bit(SIGTSTP) |
                               Bit(SIGTTIN) | Bit(SIGTTOU);

bool TakeMask(const std::string& line, const char* name, uint64_t* mask) {
  if (line.compare(0, std::char_traits<char>::length(name), name) != 0) return false;
  *mask = strtoull(line.c_str() + std::char_traits<char>::length(name), nullptr, 16);
  return true;
}

}  // namespace

// /proc/PID/stat (proc(5)): flags are field 9, the exit code is field 52.
bool WasKilled(pid_t pid) {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of linux/sched.h
  constexpr long kSignal = 0x7f;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (pid <= 0 || !std::getline(file, stat)) return false;
  const size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return false;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  unsigned long flags = 0;
  long exit_code = 0;
  for (int number = 3; number <= 52 && fields >> field; ++number) {
    if (number == 9) flags = strtoul(field.c_str(), nullptr, 10);
    if (number == 52) exit_code = strtol(field.c_str(), nullptr, 10);
  }
  return (flags & kExiting) != 0 && (exit_code & kSignal) != 0;
}

bool IsToEnd(pid_t thread) {
  if (thread <= 0) return true;
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  uint64_t own = 0;
  uint64_t shared = 0;
  uint64_t blocked = 0;
  uint64_t ignored = 0;
  uint64_t caught = 0;
  bool is_whole = false;
  for (std::string line; std::getline(status, line);) {
    is_whole = TakeMask(line, "SigPnd:", &own) || TakeMask(line, "ShdPnd:", &shared) ||
               TakeMask(line, "SigBlk:", &blocked) || TakeMask(line, "SigIgn:", &ignored) ||
               TakeMask(line, "SigCgt:", &caught) || is_whole;
  }
  const uint64_t pending = (own | shared) & ~blocked & ~ignored;
  return !is_whole || (pending & (kAsksToEnd | ~(caught | kHarmless))) != 0;
}

}  // namespace runnel::drive
