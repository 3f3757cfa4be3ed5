#include "walk.h"

#include <algorithm>

#include "nt_status.h"
#include "results.h"

namespace runnel::drive {

Walk::~Walk() {
  for (const uint64_t id : looked_up_) core_.Forget(id, 1);
}

void Walk::Keep(uint64_t id) {
  const auto at = std::find(looked_up_.begin(), looked_up_.end(), id);
  if (at != looked_up_.end()) looked_up_.erase(at);
}

NTSTATUS Walk::Step(uint64_t folder, PathStep* step, EntryAnswer* found) {
  Result result = Await(core_, &DriveCore::Lookup, folder, step->name);
  if (result.error == Kind::kNotFound) {
    const Result alike = Await(core_, &DriveCore::FindName, folder, step->name);
    if (alike.error != Kind::kNone) return ToNtStatus(alike.error);
    step->name = alike.text;
    WindowsNameOf(step->name, &step->wide);
    result = Await(core_, &DriveCore::Lookup, folder, step->name);
  }
  if (result.error != Kind::kNone) return ToNtStatus(result.error);
  looked_up_.push_back(result.entry.id);
  *found = result.entry;
  return STATUS_SUCCESS;
}

NTSTATUS Walk::To(std::wstring_view path, Place* place) { return Along(kRootId, path, place); }

NTSTATUS Walk::In(uint64_t folder, std::wstring_view name, Place* place) { return Along(folder, name, place); }

NTSTATUS Walk::Along(uint64_t from, std::wstring_view path, Place* place) {
  *place = {};
  std::vector<PathStep> steps;
  NTSTATUS status = SplitPath(path, &steps);
  if (status != STATUS_SUCCESS) return status;
  if (steps.empty()) {
    const Result root = Await(core_, &DriveCore::GetAttributes, kRootId);
    place->id = kRootId;
    place->attributes = root.entry.attributes;
    place->path = L"\\";
    return ToNtStatus(root.error);
  }
  EntryAnswer found;
  found.id = from;
  found.attributes.mode = ModeOf(FileType::kFolder);
  for (size_t at = 0; at < steps.size(); ++at) {
    const FileType type = TypeOf(found.attributes.mode);
    if (type == FileType::kSymlink) {
      place->link_at = steps[at - 1].at;
      return STATUS_REPARSE;
    }
    if (type != FileType::kFolder) return STATUS_OBJECT_PATH_NOT_FOUND;
    const uint64_t folder = found.id;
    const bool is_last = at + 1 == steps.size();
    status = Step(folder, &steps[at], &found);
    place->path += L'\\';
    place->path += steps[at].wide;
    if (is_last) {
      place->folder = folder;
      place->last = steps[at];
    }
    if (status == STATUS_OBJECT_NAME_NOT_FOUND && !is_last) return STATUS_OBJECT_PATH_NOT_FOUND;
    if (status != STATUS_SUCCESS) return status;
  }
  place->id = found.id;
  place->attributes = found.attributes;
  return STATUS_SUCCESS;
}

}  // namespace runnel::drive
