// getattrlistbulk(2), which keeps its place in the descriptor, and leaves out "." and "..".
#include "src/file/posix/folder_names.h"

#include <dirent.h>
#include <sys/attr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/file/posix/retry.h"

namespace runnel {

namespace {

constexpr size_t kReadBytes = 64 * 1024;

// A record: its length, the attributes that it has, and where its name stands, counted from that field on.
struct NameRecord {
  uint32_t length;
  attribute_set_t returned;
  attrreference_t name;
};

}  // namespace

int ReadSomeNames(int folder, bool* is_end, const TakeName& take) {
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
    const int error = take(reinterpret_cast<const char*>(name), DT_UNKNOWN);
    if (error != 0) return error;
    at += record.length;
  }
  return 0;
}

}  // namespace runnel
