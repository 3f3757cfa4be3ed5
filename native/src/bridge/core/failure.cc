#include "failure.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace runnel {

namespace {

struct ErrnoName {
  int number;
  const char* name;
};

// Names of the errors that file operations answer; others keep their number.
constexpr ErrnoName kErrnoNames[] = {
    {EACCES, "EACCES"},
    {EAGAIN, "EAGAIN"},
    {EBADF, "EBADF"},
    {EBUSY, "EBUSY"},
    {EEXIST, "EEXIST"},
    {EFBIG, "EFBIG"},
    {EINTR, "EINTR"},
    {EINVAL, "EINVAL"},
    {EIO, "EIO"},
    {EISDIR, "EISDIR"},
    {ELOOP, "ELOOP"},
    {EMFILE, "EMFILE"},
    {EMLINK, "EMLINK"},
    {ENAMETOOLONG, "ENAMETOOLONG"},
    {ENFILE, "ENFILE"},
    {ENODEV, "ENODEV"},
    {ENOENT, "ENOENT"},
    {ENOMEM, "ENOMEM"},
    {ENOSPC, "ENOSPC"},
    {ENOSYS, "ENOSYS"},
    {ENOTDIR, "ENOTDIR"},
    {ENOTEMPTY, "ENOTEMPTY"},
    {ENXIO, "ENXIO"},
    {EPERM, "EPERM"},
    {EOPNOTSUPP, "EOPNOTSUPP"},
    {EOVERFLOW, "EOVERFLOW"},
    {EROFS, "EROFS"},
    {ETXTBSY, "ETXTBSY"},
    {EXDEV, "EXDEV"},
// Windows has no numbers for these.
#ifndef _WIN32
    {EDQUOT, "EDQUOT"},
    {ESTALE, "ESTALE"},
#endif
};

std::string CodeOf(int number) {
  for (const ErrnoName& known : kErrnoNames) {
    if (known.number == number) return known.name;
  }
  return "ERRNO_" + std::to_string(number);
}

std::string TextOf(int number) {
  // Some systems have no words for it.
  if (number == EOPNOTSUPP) return "not supported by this system or file system";
  return std::generic_category().message(number);
}

}  // namespace

Napi::Error MakeError(Napi::Env env, const Failure& failure) {
  const std::string code = failure.code != nullptr ? failure.code : CodeOf(failure.error_number);
  const std::string text = failure.code != nullptr ? code : TextOf(failure.error_number);
  Napi::Error error = Napi::Error::New(env, text);
  error.Set("code", Napi::String::New(env, code));
  return error;
}

}  // namespace runnel
