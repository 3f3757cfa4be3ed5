// Shared by the Windows files of this folder: the system's own calls (ntdll, which unlike Win32 opens relative to a
// folder), and what they answer as errno numbers. A descriptor is a handle: Windows uses only their low 32 bits.
#ifndef RUNNEL_FILE_WINDOWS_CALLS_H_
#define RUNNEL_FILE_WINDOWS_CALLS_H_

#include <cstdint>
#include <string>
#include <string_view>

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winioctl.h>
#include <winternl.h>

#include "src/file/stat.h"

namespace runnel {

inline HANDLE SystemHandle(int fd) { return reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd)); }
inline int DescriptorOf(HANDLE handle) { return static_cast<int>(reinterpret_cast<intptr_t>(handle)); }

// 0 for success; EIO for what has no better number.
int ErrorOf(NTSTATUS status);

// True when the file system or the system is too old for a call: another way may do.
bool IsUnknownCall(NTSTATUS status);

// Both return false for text that is not well formed.
bool ToUtf16(std::string_view utf8, std::wstring* utf16);
bool ToUtf8(std::wstring_view utf16, std::string* utf8);

// Information classes that the headers do not name (ntifs.h).
inline constexpr int kRenameInformation = 10;
inline constexpr int kLinkInformation = 11;
inline constexpr int kIdInformation = 59;
inline constexpr int kDispositionInformationEx = 64;
inline constexpr int kRenameInformationEx = 65;

NTSTATUS QueryFile(HANDLE file, int information, void* into, size_t length);
NTSTATUS SetFile(HANDLE file, int information, const void* from, size_t length);
NTSTATUS ControlFile(HANDLE file, uint32_t code, const void* in, size_t in_length, void* out, size_t out_length);

// Nanoseconds since 1970 from Windows' count of 100 ns since 1601, and back; finer parts of a time are lost.
int64_t NanosecondsOf(int64_t windows_time);
int64_t WindowsTimeOf(int64_t nanoseconds);

// Reads the Stat of what is open at `file`.
int StatOfHandle(HANDLE file, Stat* stat);

}  // namespace runnel

#endif  // RUNNEL_FILE_WINDOWS_CALLS_H_
