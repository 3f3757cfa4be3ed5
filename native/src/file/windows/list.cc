// Listing: names from the folder, and one look at each of them.
#include <cerrno>
#include <cstddef>
#include <utility>

#include "beneath.h"
#include "src/file/root.h"

extern "C" NTSTATUS NTAPI NtQueryDirectoryFile(HANDLE, HANDLE, PIO_APC_ROUTINE, void*, PIO_STATUS_BLOCK, void*, ULONG,
                                               FILE_INFORMATION_CLASS, BOOLEAN, PUNICODE_STRING, BOOLEAN);

namespace runnel {

namespace {

constexpr size_t kBatchEntries = 2048;
constexpr size_t kReadBytes = 64 * 1024;
constexpr int kNamesInformation = 12;

// FILE_NAMES_INFORMATION.
struct NameRecord {
  uint32_t next;  // bytes from this record to the next; 0 for the last
  uint32_t index;
  uint32_t name_bytes;
  wchar_t name[1];
};

int AddEntry(int folder, std::wstring_view name, std::vector<Entry>* entries) {
  if (name == L"." || name == L"..") return 0;
  Entry entry;
  // Half a pair of UTF-16 is no character: such a name has no text and cannot be asked for.
  if (!ToUtf8(name, &entry.name)) return 0;
  Descriptor opened;
  int error = OpenBeneath(folder, entry.name, {}, &opened);
  if (error == 0) error = StatOfHandle(SystemHandle(opened.get()), &entry.stat);
  if (error == ENOENT) return 0;
  if (error == 0) entries->push_back(std::move(entry));
  return error;
}

int ReadSomeEntries(int folder, bool* is_end, std::vector<Entry>* entries) {
  alignas(8) uint8_t buffer[kReadBytes];
  IO_STATUS_BLOCK io = {};
  const NTSTATUS status =
      NtQueryDirectoryFile(SystemHandle(folder), nullptr, nullptr, nullptr, &io, buffer, sizeof(buffer),
                           static_cast<FILE_INFORMATION_CLASS>(kNamesInformation), false, nullptr, false);
  *is_end = status == STATUS_NO_MORE_FILES || status == STATUS_NO_SUCH_FILE;
  if (*is_end) return 0;
  if (status < 0) return ErrorOf(status);
  for (size_t at = 0;;) {
    const auto* record = reinterpret_cast<const NameRecord*>(buffer + at);
    const int error = AddEntry(folder, {record->name, record->name_bytes / sizeof(wchar_t)}, entries);
    if (error != 0 || record->next == 0) return error;
    at += record->next;
  }
}

}  // namespace

int ListNext(int folder, std::vector<Entry>* entries) {
  entries->clear();
  bool is_end = false;
  while (entries->size() < kBatchEntries && !is_end) {
    const int error = ReadSomeEntries(folder, &is_end, entries);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace runnel
