// Listing: names by getattrlistbulk(2), which keeps its place in the descriptor, and one fstatat(2) for each.
#include <fcntl.h>
#include <sys/attr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "calls.h"
#include "src/file/root.h"

namespace runnel {

namespace {

constexpr size_t kBatchEntries = 2048;
constexpr size_t kReadBytes = 64 * 1024;

// A record: its length, the attributes that it has, and where its name stands, counted from that field on.
struct NameRecord {
  uint32_t length;
  attribute_set_t returned;
  attrreference_t name;
};

int AddEntry(int folder, const char* name, std::vector<Entry>* entries) {
  struct stat from;
  if (fstatat(folder, name, &from, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  Entry entry;
  entry.stat = StatFrom(from);
  entry.name = name;
  entries->push_back(std::move(entry));
  return 0;
}

int ReadSomeEntries(int folder, bool* is_end, std::vector<Entry>* entries) {
  struct attrlist wanted = {};
  wanted.bitmapcount = ATTR_BIT_MAP_COUNT;
  wanted.commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME;
  std::vector<uint8_t> buffer(kReadBytes);
  const int count = Retry([&] { return getattrlistbulk(folder, &wanted, buffer.data(), buffer.size(), 0); });
  if (count < 0) return errno;
  *is_end = count == 0;
  const uint8_t* at = buffer.data();
  for (int i = 0; i < count; ++i) {
    NameRecord record;
    std::memcpy(&record, at, sizeof(record));
    const uint8_t* name = at + offsetof(NameRecord, name) + record.name.attr_dataoffset;
    const int error = AddEntry(folder, reinterpret_cast<const char*>(name), entries);
    if (error != 0) return error;
    at += record.length;
  }
  return 0;
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
