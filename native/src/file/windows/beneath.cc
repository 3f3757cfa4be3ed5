#include "beneath.h"

#include <algorithm>
#include <cerrno>

namespace runnel {

namespace {

constexpr ULONG kAttributes = OBJ_DONT_REPARSE;
constexpr uint32_t kAlways = FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT;
constexpr size_t kNameUnitsMax = 255;
constexpr size_t kPathBytesMax = 65'534;  // of a UNICODE_STRING

int CheckParts(const std::wstring& path) {
  size_t from = 0;
  while (from <= path.size()) {
    const size_t end = std::min(path.find(L'\\', from), path.size());
    if (end - from > kNameUnitsMax) return ENAMETOOLONG;
    from = end + 1;
  }
  return path.size() * sizeof(wchar_t) > kPathBytesMax ? ENAMETOOLONG : 0;
}

int ToSystemPath(const std::string& path, std::wstring* system_path) {
  if (path.find_first_of(":\\") != std::string::npos || !ToUtf16(path, system_path)) return EINVAL;
  std::replace(system_path->begin(), system_path->end(), L'/', L'\\');
  return CheckParts(*system_path);
}

NTSTATUS OpenPath(int root, std::wstring& path, const Opening& opening, Descriptor* opened) {
  UNICODE_STRING name;
  name.Buffer = path.data();
  name.Length = static_cast<USHORT>(path.size() * sizeof(wchar_t));
  name.MaximumLength = name.Length;
  OBJECT_ATTRIBUTES attributes;
  InitializeObjectAttributes(&attributes, &name, kAttributes, SystemHandle(root), nullptr);
  IO_STATUS_BLOCK io = {};
  HANDLE handle = nullptr;
  const NTSTATUS status = NtCreateFile(&handle, opening.access | SYNCHRONIZE, &attributes, &io, nullptr,
                                       FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                       opening.disposition, opening.options | kAlways, nullptr, 0);
  if (status >= 0) opened->Reset(DescriptorOf(handle));
  return status;
}

// The system says the same of a missing folder and of a file or a link in its place: which is it?
int WhyNotFound(int root, const std::wstring& path) {
  for (size_t slash = path.find(L'\\'); slash != std::wstring::npos; slash = path.find(L'\\', slash + 1)) {
    std::wstring part = path.substr(0, slash);
    Descriptor opened;
    if (OpenPath(root, part, {}, &opened) < 0) return ENOENT;
    Stat stat;
    const int error = StatOfHandle(SystemHandle(opened.get()), &stat);
    if (error != 0) return error;
    if (stat.type == FileType::kSymlink) return ELOOP;
    if (stat.type != FileType::kFolder) return ENOTDIR;
  }
  return ENOENT;
}

}  // namespace

int OpenBeneath(int root, const std::string& path, const Opening& opening, Descriptor* opened) {
  std::wstring system_path;
  const int error = ToSystemPath(path, &system_path);
  if (error != 0) return error;
  const NTSTATUS status = OpenPath(root, system_path, opening, opened);
  return status == STATUS_OBJECT_PATH_NOT_FOUND ? WhyNotFound(root, system_path) : ErrorOf(status);
}

int FindPlace(int root, const std::string& path, Place* place) {
  if (path.empty()) return EINVAL;
  const size_t slash = path.rfind('/');
  const bool is_top = slash == std::string::npos;
  const int error = ToSystemPath(is_top ? path : path.substr(slash + 1), &place->name);
  if (error != 0) return error;
  const Opening folder = {FILE_TRAVERSE | FILE_READ_ATTRIBUTES | FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY, 1,
                          FILE_DIRECTORY_FILE};
  return OpenBeneath(root, is_top ? std::string() : path.substr(0, slash), folder, &place->folder);
}

}  // namespace runnel
