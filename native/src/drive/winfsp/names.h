// Names of the volume, which are UTF-8 and may hold any character but '/', as names of Windows, which are UTF-16 and
// may not.
//
// A character that Windows does not take in a name, and a blank or dot at its end, is shown as the private-use
// character U+F000 + its number, as Windows' own subsystem for Linux and Cygwin show it; the same character leads back
// to it. Names that Windows keeps for devices (NUL, COM1.txt) are shown as they are and can be opened, but not made
// here.
#ifndef RUNNEL_DRIVE_WINFSP_NAMES_H_
#define RUNNEL_DRIVE_WINFSP_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "winfsp_api.h"

namespace runnel::drive {

// A name of a path, and where it begins in the path, in characters.
struct PathStep {
  std::string name;   // of the volume
  std::wstring wide;  // of Windows
  size_t at = 0;
};

// Splits a path as WinFsp gives it: L"\\folder\\file", L"\\" for the root. STATUS_OBJECT_NAME_INVALID for what no name
// can be, and for an alternate stream (L"file:stream"), which a volume has none of.
NTSTATUS SplitPath(std::wstring_view path, std::vector<PathStep>* steps);

// False when it is not UTF-8.
bool WindowsNameOf(std::string_view name, std::wstring* wide);

// STATUS_OBJECT_NAME_INVALID for a name that Windows keeps for a device, or that ends with a blank or a dot.
NTSTATUS CheckNewName(std::wstring_view wide);

// Folds names of the volume that Windows takes for one: upper and lower case are the same, character by
// character, as NTFS has it.
std::string FoldName(std::string_view name);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_NAMES_H_
