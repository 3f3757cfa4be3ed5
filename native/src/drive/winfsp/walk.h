// Finding the way: WinFsp names everything by its path, the core by ids that are looked up name by name.
#ifndef RUNNEL_DRIVE_WINFSP_WALK_H_
#define RUNNEL_DRIVE_WINFSP_WALK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "names.h"
#include "src/drive/core/drive_core.h"

namespace runnel::drive {

// The place that a path leads to.
struct Place {
  uint64_t folder = 0;  // that holds the last name; 0: the path is the root's
  uint64_t id = 0;      // of what the path names; 0: nothing is there
  Attributes attributes;
  PathStep last;       // as the folder has it; as it was asked for when nothing is there
  std::wstring path;   // with all names as their folders have them
  size_t link_at = 0;  // of a symlink on the way: where its name begins in the path that was asked for
};

// Holds what it looks up until its end.
class Walk {
 public:
  explicit Walk(DriveCore& core) : core_(core) {}
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // A name is found as it is written, else by the first name of the folder that differs in upper and lower case only.
  // STATUS_OBJECT_NAME_NOT_FOUND: only the last name is not there. STATUS_OBJECT_PATH_NOT_FOUND: one before it is not
  // there, or no folder. STATUS_REPARSE: one before it is a symlink.
  NTSTATUS To(std::wstring_view path, Place* place);

  // The same for a name in a folder.
  NTSTATUS In(uint64_t folder, std::wstring_view name, Place* place);

  // The id that was looked up is the caller's from now on, who forgets it.
  void Keep(uint64_t id);

 private:
  NTSTATUS Along(uint64_t folder, std::wstring_view path, Place* place);
  NTSTATUS Step(uint64_t folder, PathStep* step, EntryAnswer* found);

  DriveCore& core_;
  std::vector<uint64_t> looked_up_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_WALK_H_
