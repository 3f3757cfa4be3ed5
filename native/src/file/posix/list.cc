// Listing: names from the folder, and one lstat for each.
#include <cerrno>
#include <utility>

#include "attributes.h"
#include "folder_names.h"
#include "src/file/root.h"

namespace runnel {

namespace {

constexpr size_t kBatchEntries = 2048;

int AddEntry(int folder, const char* name, std::vector<Entry>* entries) {
  Entry entry;
  const int error = StatAt(folder, name, &entry.stat);
  if (error == ENOENT) return 0;
  if (error != 0) return error;
  entry.name = name;
  entries->push_back(std::move(entry));
  return 0;
}

}  // namespace

int ListNext(int folder, std::vector<Entry>* entries) {
  entries->clear();
  bool is_end = false;
  while (entries->size() < kBatchEntries && !is_end) {
    const int error =
        ReadSomeNames(folder, &is_end, [&](const char* name, int) { return AddEntry(folder, name, entries); });
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace runnel
