// System calls with the retry that every caller needs.
#ifndef RUNNEL_FILE_POSIX_RETRY_H_
#define RUNNEL_FILE_POSIX_RETRY_H_

#include <cerrno>

namespace runnel {

// Runs `call` until it is not interrupted by a signal; its result is negative on failure, with errno.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// 0, or the errno number of a call whose result is negative on failure.
template <typename Call>
int Try(Call call) {
  return Retry(call) < 0 ? errno : 0;
}

}  // namespace runnel

#endif  // RUNNEL_FILE_POSIX_RETRY_H_
