// Kinds of failures within the drive, as the agent names them (ERROR_KINDS of shared/src/errors.ts, in the same order),
// and those that only the drive itself finds. Each system has one exhaustive table of what a program is answered:
// ToErrno (fuse/to_errno.cc), ToNtStatus (winfsp/nt_status.cc); one that forgets a kind does not compile (-Wswitch).
#ifndef RUNNEL_DRIVE_KINDS_H_
#define RUNNEL_DRIVE_KINDS_H_

#include <cstdint>
#include <string_view>

namespace runnel::drive {

enum class Kind : uint8_t {
  kNone,  // success
  kNotFound,
  kUnknown,
  kStale,
  kGone,
  kExists,
  kNotEmpty,
  kNoSpace,
  kQuota,
  kDenied,
  kRevoked,
  kTooLarge,
  kBadName,
  kBusy,
  kCorrupt,
  kEpoch,
  kVersion,
  kInvalid,
  kUnreachable,
  kInterrupted,
  kReadOnly,
  kNotFolder,
  kIsFolder,
  kUnsupported,
  kUnavailable,
  kLost,
  kIo,
  kNameTooLong,
  kLinkLoop,
  kNoAttribute,
  // Kinds that no agent gives.
  kPastEnd,         // a position behind the end of a file
  kBufferTooSmall,  // for an extended attribute
  kTooManyOpen,     // files of this process
  kCount,
};

// The name of a kind in errors.ts; "" for success.
std::string_view NameOf(Kind kind);
// kIo for a name that no kind has.
Kind KindNamed(std::string_view name);
// The kind of an error number of this system's C library.
Kind KindOfErrno(int error);
// Kinds of numbers that not every system has (system/); kIo for any other.
Kind KindOfSystemErrno(int error);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_KINDS_H_
