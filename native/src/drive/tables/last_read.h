// The file that each thread of a program last opened to read: what it saves next under another name is likely made of
// that.
#ifndef RUNNEL_DRIVE_TABLES_LAST_READ_H_
#define RUNNEL_DRIVE_TABLES_LAST_READ_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace runnel::drive {

// A hint: of more threads than it has room for, those that came first are forgotten. Not for several threads at once.
class LastRead {
 public:
  // `thread` 0 is nobody.
  void Note(int32_t thread, uint64_t node) {
    if (thread == 0) return;
    Place* place = Find(thread);
    if (place == nullptr) {
      place = &places_[next_];
      next_ = (next_ + 1) % places_.size();
    }
    *place = {thread, node};
  }

  // A node, or 0.
  uint64_t Of(int32_t thread) {
    const Place* place = thread == 0 ? nullptr : Find(thread);
    return place == nullptr ? 0 : place->node;
  }

 private:
  struct Place {
    int32_t thread = 0;
    uint64_t node = 0;
  };

  Place* Find(int32_t thread) {
    for (Place& place : places_) {
      if (place.thread == thread) return &place;
    }
    return nullptr;
  }

  std::array<Place, 64> places_;
  size_t next_ = 0;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_LAST_READ_H_
