#include "names.h"

#include <algorithm>
#include <iterator>

#include "src/file/windows/calls.h"

// A function of ntdll that is not in every winternl.h.
extern "C" WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR character);

namespace runnel::drive {
namespace {

constexpr std::wstring_view kNotInNames = L"<>:\"|?*\\";
constexpr wchar_t kStandIn = 0xf000;
constexpr wchar_t kControlMax = 0x1f;

bool IsForbidden(wchar_t character) {
  return (character != 0 && character <= kControlMax) || kNotInNames.find(character) != std::wstring_view::npos;
}

bool IsForbiddenAtEnd(wchar_t character) { return character == L'.' || character == L' '; }

// "." and ".." are no names of a volume.
bool IsForbiddenAt(std::wstring_view name, size_t at, wchar_t character) {
  return IsForbidden(character) || (at + 1 == name.size() && IsForbiddenAtEnd(character));
}

std::wstring Upper(std::wstring_view wide) {
  std::wstring upper(wide);
  for (wchar_t& character : upper) character = RtlUpcaseUnicodeChar(character);
  return upper;
}

std::wstring Unmapped(std::wstring_view wide) {
  std::wstring plain(wide);
  for (size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] < kStandIn || plain[at] >= kStandIn + 0x80) continue;
    const wchar_t meant = static_cast<wchar_t>(plain[at] - kStandIn);
    if (IsForbiddenAt(wide, at, meant)) plain[at] = meant;
  }
  return plain;
}

}  // namespace

bool WindowsNameOf(std::string_view name, std::wstring* wide) {
  if (!ToUtf16(name, wide)) return false;
  for (size_t at = 0; at < wide->size(); ++at) {
    if (IsForbiddenAt(*wide, at, (*wide)[at])) (*wide)[at] = static_cast<wchar_t>(kStandIn + (*wide)[at]);
  }
  return true;
}

NTSTATUS SplitPath(std::wstring_view path, std::vector<PathStep>* steps) {
  steps->clear();
  for (size_t at = 0; at < path.size();) {
    if (path[at] == L'\\') {
      ++at;
      continue;
    }
    const size_t end = std::min(path.find(L'\\', at), path.size());
    PathStep step;
    step.wide = path.substr(at, end - at);
    step.at = at;
    if (std::any_of(step.wide.begin(), step.wide.end(), IsForbidden)) return STATUS_OBJECT_NAME_INVALID;
    if (!ToUtf8(Unmapped(step.wide), &step.name)) return STATUS_OBJECT_NAME_INVALID;
    if (step.name.find('/') != std::string::npos || step.name == "." || step.name == "..")
      return STATUS_OBJECT_NAME_INVALID;
    steps->push_back(std::move(step));
    at = end;
  }
  return STATUS_SUCCESS;
}

NTSTATUS CheckNewName(std::wstring_view wide) {
  constexpr std::wstring_view kDevices[] = {L"CON", L"PRN", L"AUX", L"NUL", L"CONIN$", L"CONOUT$"};
  constexpr std::wstring_view kNumbered[] = {L"COM", L"LPT"};
  constexpr std::wstring_view kNumbers = L"0123456789\u00b9\u00b2\u00b3";
  if (wide.empty() || IsForbiddenAtEnd(wide.back())) return STATUS_OBJECT_NAME_INVALID;
  std::wstring base = Upper(wide.substr(0, wide.find(L'.')));
  while (!base.empty() && base.back() == L' ') base.pop_back();
  if (std::find(std::begin(kDevices), std::end(kDevices), base) != std::end(kDevices))
    return STATUS_OBJECT_NAME_INVALID;
  if (base.size() != 4 || kNumbers.find(base[3]) == std::wstring_view::npos) return STATUS_SUCCESS;
  const bool is_numbered =
      std::find(std::begin(kNumbered), std::end(kNumbered), base.substr(0, 3)) != std::end(kNumbered);
  return is_numbered ? STATUS_OBJECT_NAME_INVALID : STATUS_SUCCESS;
}

std::string FoldName(std::string_view name) {
  std::string folded(name);
  const bool is_ascii =
      std::all_of(name.begin(), name.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
  if (is_ascii) {
    std::transform(name.begin(), name.end(), folded.begin(),
                   [](char byte) { return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte; });
    return folded;
  }
  std::wstring wide;
  if (ToUtf16(name, &wide)) ToUtf8(Upper(wide), &folded);
  return folded;
}

}  // namespace runnel::drive
