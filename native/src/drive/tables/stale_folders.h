// Folders whose name leads elsewhere now while the kernel may still find them by it. It walks a path without asking
// about such a name, so that a request which names one of these folders, or anything below, has to be sent back: see
// SecondTries.
//
// DriveCore guards it: it is not thread-safe. All times are on the kernel's clock.
#ifndef RUNNEL_DRIVE_TABLES_STALE_FOLDERS_H_
#define RUNNEL_DRIVE_TABLES_STALE_FOLDERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace runnel::drive {

class StaleFolders {
 public:
  struct Mark {
    uint64_t number;  // given to nothing else
    int64_t until_ms;
    // The name that leads elsewhere.
    uint64_t parent;
    std::string name;
  };

  // The folder is stale until then.
  void Put(uint64_t folder, Mark mark, int64_t now_ms);
  void End(uint64_t folder, uint64_t number);
  bool HasAny(int64_t now_ms) const { return now_ms < last_until_ms_; }
  bool Has(uint64_t folder, int64_t now_ms) const;
  std::vector<Mark> MarksOf(uint64_t folder, int64_t now_ms) const;

 private:
  static constexpr size_t kSweepSizeMin = 64;

  std::unordered_multimap<uint64_t, Mark> folders_;
  size_t sweep_size_ = kSweepSizeMin;
  int64_t last_until_ms_ = 0;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_STALE_FOLDERS_H_
