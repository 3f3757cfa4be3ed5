// Up to ERANGE the numbers of both are the same, but EAGAIN's and EDEADLK's.
#include "system_errno.h"

#include <cerrno>

namespace runnel::drive {
namespace {

struct Pair {
  int system;
  int linux;  // include/uapi/asm-generic/errno-base.h and errno.h
};

constexpr Pair kPairs[] = {
    {EAGAIN, 11},       {EDEADLK, 35}, {ENAMETOOLONG, 36}, {ENOSYS, 38},    {ENOTEMPTY, 39},  {ELOOP, 40},  {ENODATA, 61}, {ENOATTR, 61},
    {EOVERFLOW, 75},    {EILSEQ, 84},  {EOPNOTSUPP, 95},   {ENOTSUP, 95},   {ENOTCONN, 107},  {ETIMEDOUT, 110}, {ESTALE, 116}, {EDQUOT, 122},
};

}  // namespace

int DriveErrno(int system_error) {
  for (const Pair& pair : kPairs) {
    if (pair.system == system_error) return pair.linux;
  }
  return system_error <= ERANGE ? system_error : EIO;
}

// An extended attribute that is not there is ENOATTR to programs.
int SystemErrno(int error) {
  constexpr int kNoData = 61;
  if (error == kNoData) return ENOATTR;
  for (const Pair& pair : kPairs) {
    if (pair.linux == error) return pair.system;
  }
  return error <= ERANGE ? error : EIO;
}

}  // namespace runnel::drive
