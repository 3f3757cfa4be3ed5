// Ends a process by SIGKILL just before its n-th change to files below certain folders: preloaded (LD_PRELOAD), it sees
// what every thread asks of the kernel, SQLite and the drive's addon included. A write may be cut in half first, as a
// kill in the middle of it does. Writes to one file that follow each other count as one change. Environment: see
// stop-at.ts. The count is under g_mutex.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mutex>
#include <string>

namespace {

std::string Setting(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

/** Returns true in the program that is meant: its command line holds the words. */
bool IsMeant() {
  const std::string words = Setting("STOP_AT_PROGRAM");
  std::string line(4096, '\0');
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t count = fd < 0 ? 0 : read(fd, line.data(), line.size());
  if (fd >= 0) close(fd);
  line.resize(count > 0 ? static_cast<size_t>(count) : 0);
  for (char& letter : line) letter = letter == '\0' ? ' ' : letter;
  return !words.empty() && line.find(words) != std::string::npos;
}

struct Settings {
  const std::string below = Setting("STOP_AT_BELOW");
  const std::string armed = Setting("STOP_AT_ARMED");
  const std::string trace = Setting("STOP_AT_TRACE");
  const long at = atol(Setting("STOP_AT").c_str());
  const bool is_torn = !Setting("STOP_AT_TORN").empty();
  const bool is_meant = IsMeant();
};

const Settings& Get() {
  static const Settings* settings = new Settings;
  return *settings;
}

std::mutex g_mutex;
long g_count = 0;
// The last change.
std::string g_last;

bool IsBelow(const std::string& path) {
  const std::string& all = Get().below;
  for (size_t start = 0; start < all.size();) {
    size_t end = all.find(':', start);
    if (end == std::string::npos) end = all.size();
    if (path.compare(0, end - start, all, start, end - start) == 0) return true;
    start = end + 1;
  }
  return false;
}

std::string PathOfFd(int fd) {
  if (fd == AT_FDCWD) return "";
  char link[64];
  char path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof(path));
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

std::string PathAt(int folder, const char* name) {
  if (name == nullptr || name[0] == '\0') return PathOfFd(folder);
  return name[0] == '/' ? name : PathOfFd(folder) + "/" + name;
}

/** True when this is the change to end at. */
bool IsTheOne(const char* what, const std::string& path) {
  const Settings& settings = Get();
  if (!settings.is_meant || !IsBelow(path)) return false;
  if (syscall(SYS_faccessat, AT_FDCWD, settings.armed.c_str(), F_OK) != 0) return false;
  std::lock_guard lock(g_mutex);
  const std::string change = std::string(what) + " " + path;
  if (change == g_last && strstr(what, "write") != nullptr) return false;
  g_last = change;
  const long n = ++g_count;
  if (!settings.trace.empty()) {
    const std::string line = std::to_string(n) + " " + change + "\n";
    const int fd = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, settings.trace.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (fd >= 0) {
      if (syscall(SYS_write, fd, line.data(), line.size()) < 0) abort();
      close(fd);
    }
  }
  return n == settings.at;
}

void End() { syscall(SYS_kill, getpid(), SIGKILL); }

void Before(const char* what, const std::string& path) {
  if (IsTheOne(what, path)) End();
}

template <typename F>
F Next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define NEXT(name) static const auto next = Next<decltype(&name)>(#name)

extern "C" {

ssize_t write(int fd, const void* data, size_t size) {
  if (Get().is_meant && IsTheOne("write", PathOfFd(fd))) {
    if (Get().is_torn) syscall(SYS_write, fd, data, size / 2);
    End();
  }
  return syscall(SYS_write, fd, data, size);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  if (Get().is_meant && IsTheOne("pwrite", PathOfFd(fd))) {
    if (Get().is_torn) syscall(SYS_pwrite64, fd, data, size / 2, offset);
    End();
  }
  return syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

ssize_t writev(int fd, const struct iovec* parts, int parts_count) {
  NEXT(writev);
  Before("writev", PathOfFd(fd));
  return next(fd, parts, parts_count);
}

#define ON_FD(name, parameters, arguments) \
  int name parameters {                    \
    NEXT(name);                            \
    Before(#name, PathOfFd(fd));           \
    return next arguments;                 \
  }

ON_FD(fsync, (int fd), (fd))
ON_FD(fdatasync, (int fd), (fd))
ON_FD(ftruncate, (int fd, off_t length), (fd, length))
ON_FD(ftruncate64, (int fd, off64_t length), (fd, length))
ON_FD(fallocate, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
ON_FD(fallocate64, (int fd, int mode, off64_t offset, off64_t length), (fd, mode, offset, length))
ON_FD(fchmod, (int fd, mode_t mode), (fd, mode))
ON_FD(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FD(futimens, (int fd, const struct timespec times[2]), (fd, times))

ssize_t copy_file_range(int from, off64_t* from_offset, int fd, off64_t* offset, size_t length, unsigned flags) {
  NEXT(copy_file_range);
  Before("copy_file_range", PathOfFd(fd));
  return next(from, from_offset, fd, offset, length, flags);
}

#define AT_PATH(name, parameters, folder, path, arguments) \
  int name parameters {                                    \
    NEXT(name);                                            \
    Before(#name, PathAt(folder, path));                   \
    return next arguments;                                 \
  }

AT_PATH(mkdirat, (int folder, const char* path, mode_t mode), folder, path, (folder, path, mode))
AT_PATH(mkdir, (const char* path, mode_t mode), AT_FDCWD, path, (path, mode))
AT_PATH(rmdir, (const char* path), AT_FDCWD, path, (path))
AT_PATH(unlink, (const char* path), AT_FDCWD, path, (path))
AT_PATH(unlinkat, (int folder, const char* path, int flags), folder, path, (folder, path, flags))
AT_PATH(rename, (const char* path, const char* to), AT_FDCWD, path, (path, to))
AT_PATH(renameat, (int folder, const char* path, int to, const char* name), folder, path, (folder, path, to, name))
AT_PATH(renameat2, (int folder, const char* path, int to, const char* name, unsigned flags), folder, path,
        (folder, path, to, name, flags))
AT_PATH(link, (const char* from, const char* path), AT_FDCWD, path, (from, path))
AT_PATH(linkat, (int from, const char* name, int folder, const char* path, int flags), folder, path,
        (from, name, folder, path, flags))
AT_PATH(symlink, (const char* target, const char* path), AT_FDCWD, path, (target, path))
AT_PATH(symlinkat, (const char* target, int folder, const char* path), folder, path, (target, folder, path))
AT_PATH(mknodat, (int folder, const char* path, mode_t mode, dev_t device), folder, path, (folder, path, mode, device))
AT_PATH(fchmodat, (int folder, const char* path, mode_t mode, int flags), folder, path, (folder, path, mode, flags))
AT_PATH(fchownat, (int folder, const char* path, uid_t user, gid_t group, int flags), folder, path,
        (folder, path, user, group, flags))
AT_PATH(utimensat, (int folder, const char* path, const struct timespec times[2], int flags), folder, path,
        (folder, path, times, flags))

/** Opening changes something when it makes or empties a file. */
#define OPENING(name, before, folder)                                            \
  int name(before const char* path, int flags, ...) {                            \
    NEXT(name);                                                                  \
    va_list rest;                                                                \
    va_start(rest, flags);                                                       \
    const mode_t mode = va_arg(rest, mode_t);                                    \
    va_end(rest);                                                                \
    if ((flags & (O_CREAT | O_TRUNC)) != 0) Before(#name, PathAt(folder, path)); \
    return next(PASS_##name path, flags, mode);                                  \
  }
#define COMMA ,
#define PASS_open
#define PASS_open64
#define PASS_openat folder COMMA
#define PASS_openat64 folder COMMA
OPENING(open, , AT_FDCWD)
OPENING(open64, , AT_FDCWD)
OPENING(openat, int folder COMMA, folder)
OPENING(openat64, int folder COMMA, folder)

/** openat2 has no function of its own in the C library. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(rest, long);
  va_end(rest);
  NEXT(syscall);
  if (number == SYS_openat2) {
    // struct open_how begins with its flags.
    const unsigned long flags = *reinterpret_cast<const unsigned long*>(arguments[2]);
    if ((flags & (O_CREAT | O_TRUNC)) != 0) {
      Before("openat2", PathAt(static_cast<int>(arguments[0]), reinterpret_cast<const char*>(arguments[1])));
    }
  }
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

}  // extern "C"
