// Threads whose request was answered ESTALE: Linux walks the path of the system call once more then, and looks up each
// name of it (LOOKUP_REVAL, fs/namei.c). What comes at the end of that walk is served whatever it names, for there is
// no third try. A walk may end without a request, so that one which does not name what the thread looked up last is
// another call's.
//
// DriveCore guards it: it is not thread-safe. All times are on the kernel's clock.
#ifndef RUNNEL_DRIVE_TABLES_SECOND_TRIES_H_
#define RUNNEL_DRIVE_TABLES_SECOND_TRIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace runnel::drive {

class SecondTries {
 public:
  // Subject of a request: a node; a name in a folder, of a rename two. 0: none.
  struct Named {
    uint64_t node = 0;
    uint64_t folder = 0;
    std::string_view name = {};
    uint64_t to_folder = 0;
    std::string_view to_name = {};
  };
  // lookup: of a name that is absent; readlink: the walk goes on. last: the call is done with it.
  enum class Step : uint8_t { kLookup, kReadLink, kLast };

  bool IsEmpty() const { return tries_.empty(); }

  enum class Answer : uint8_t { kServe, kServeSecond, kSendBack };

  // Says what becomes of a request, which has come by a wrong way perhaps (`is_doubtful`).
  Answer Judge(int32_t thread, const Named& named, Step step, bool is_doubtful, int64_t now_ms);
  // The thread was sent back for another reason.
  void NoteSentBack(int32_t thread, uint64_t node, int64_t now_ms);
  // The thread begins to look up a name, which may take long; it has found a node.
  void NoteLooks(int32_t thread, int64_t now_ms);
  void NoteFound(int32_t thread, uint64_t folder, std::string_view name, uint64_t node, int64_t now_ms);

 private:
  struct Try {
    int64_t until_ms = 0;
    // Subject of the last lookup, or of the request that was sent back.
    uint64_t node = 0;
    uint64_t folder = 0;
    std::string name;
    // A lookup of this name was sent back, so that the walk ends with the next one.
    std::string looked_for;
    // The walk has come to its last name.
    bool is_at_end = false;
  };
  // The time in which a thread comes again; it may lose its processor there. And until a lookup is answered.
  static constexpr int64_t kRetryMs = 250;
  static constexpr int64_t kLooksMs = 60'000;
  static constexpr size_t kThreadsMax = 256;

  // Null when the thread was not sent back, or long ago.
  Try* Find(int32_t thread, int64_t now_ms);
  static bool MayContinue(const Try& second, std::string_view name);
  static bool IsOf(const Try& second, const Named& named);
  // False when too many threads are under way: nobody would know that this one has come again.
  bool Note(int32_t thread, Try second, int64_t now_ms);

  std::unordered_map<int32_t, Try> tries_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_TABLES_SECOND_TRIES_H_
