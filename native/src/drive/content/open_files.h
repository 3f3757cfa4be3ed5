// An open file: a base content, and over it layers of dirty extents, each in a sparse overlay file at the same offsets.
// The newest layer is written to; a commit freezes it. Layers stay readable until the agent has merged them into a new
// base (Rebase).
//
// Writers, truncations and freezing take turns, which last as long as a pwrite does. Programs wait for theirs. Whoever
// must not wait, as the agent's thread, leaves what it has to do to the one whose turn it is (InTurn).
//
// Locks: mutex_ (the lists and numbers; held for no system call). DriveCore's mutex may be held when mutex_ is taken;
// it is not taken in a turn, nor held by whoever waits for one. Nothing is called out of mutex_. Members under "core"
// belong to DriveCore and its mutex.
#ifndef RUNNEL_DRIVE_CONTENT_OPEN_FILES_H_
#define RUNNEL_DRIVE_CONTENT_OPEN_FILES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "content.h"
#include "extent_map.h"
#include "pooled_file.h"
#include "src/drive/drive.h"
#include "src/drive/threads/turns.h"

namespace runnel::drive {

// Modes of fallocate(2) (include/uapi/linux/falloc.h).
constexpr int kAllocateKeepsSize = 0x01;
constexpr int kAllocateHole = 0x02;
constexpr int kAllocateZeros = 0x10;

struct Layer {
  Layer() = default;
  // A file the agent never learned of has no other owner.
  ~Layer();

  std::unique_ptr<PooledFile> file;  // null: no byte was written, only the size or times changed
  ExtentMap extents;
  // The smallest size that the file has had since this layer was frozen: below it, the version with this layer still
  // shows through.
  uint64_t floor_bytes = 0;
  uint64_t version = 0;  // of the commit that holds it; 0: none yet
  uint64_t commit = 0;   // the last one that was begun with it
  bool is_in_flight = false;
  bool is_handed_over = false;  // the path belongs to the agent
};

class File {
 public:
  struct Segment {
    PooledFile* file = nullptr;  // null: zeros
    SharedFd fd;                 // of the file, once the plan was opened
    uint64_t offset = 0;
    uint64_t length = 0;
    bool is_missing = false;  // absent from the base
  };
  // The steps of a read. Owners keep the files of the segments.
  struct Plan {
    // Opens the files of all segments.
    Kind Open();

    std::vector<Segment> segments;
    std::vector<std::shared_ptr<Layer>> layers;
    ContentPtr base;
    // Absent from the base; empty when everything is there.
    uint64_t missing_offset = 0;
    uint64_t missing_end = 0;
    uint64_t size_bytes = 0;  // how much there is to read
  };
  struct State {
    uint64_t size_bytes;
    int64_t mtime_ns;
    int64_t ctime_ns;
    uint64_t version;
    bool is_dirty;  // differs from `version`, or is being committed
  };
  enum class CommitStep { kClean, kWaits, kBegun };

  File(uint64_t id, uint64_t node, uint64_t version, ContentPtr base, Entry entry, const CoreSettings& settings);

  const uint64_t id;
  const uint64_t node;

  // ── core ──
  uint64_t kernel_id = 0;
  uint32_t handles = 0;
  uint32_t writers = 0;
  // Writers whose program has closed it: the kernel lets go of a file some time after that.
  std::atomic<uint32_t> closing{0};
  // Attributes as of the last time they were known; current for size and times only through GetState.
  Entry entry;
  bool has_failed = false;    // the last commit did
  bool is_removed = false;    // this mount took its last name: it is never committed
  bool has_ended = false;     // detached, the agent has been told
  bool is_elsewhere = false;  // what its programs saved has become another file: nobody else is to open it here

  // ── any thread ──
  State GetState() const;
  // Bytes of disk: what its base and layers take, as far as they show; never more than a file without holes.
  uint64_t AllocatedBytes() const;
  Plan PlanRead(uint64_t offset, uint64_t length) const;
  // The next data or hole from an offset on, in whole blocks, as far as the files underneath know: what is not here
  // counts as data.
  Kind Seek(uint64_t offset, bool wants_data, uint64_t* found) const;
  // *written ≤ size bytes were taken. `must_be_whole`: nobody hears that it was fewer, so that is a failure.
  Kind Write(const char* data, size_t size, uint64_t offset, int64_t now_ns, bool must_be_whole, size_t* written);
  Kind Truncate(uint64_t size_bytes, int64_t now_ns);
  // Truncates in a turn, to a size that a file may have.
  void Cut(uint64_t size_bytes, int64_t now_ns);
  // Does it in a turn, without waiting for that: see Turns.
  void InTurn(std::function<void()> act, std::function<void()> after) { turns_.Do(std::move(act), std::move(after)); }
  // fallocate(2) for the modes above and 0; kUnsupported for others.
  Kind Allocate(int mode, uint64_t offset, uint64_t length, int64_t now_ns);
  // True when it was kept for the next commit; false: nothing is dirty, the agent is to be asked.
  bool SetMtimeIfDirty(int64_t mtime_ns, int64_t now_ns);
  void SetMtime(int64_t mtime_ns);

  // Freezes what is dirty into *message, which is to be sent; or has `waiter` (if not 0) wait for the commit in flight;
  // or says that there is nothing to do. The message's id names the commit. In a turn.
  CommitStep BeginCommit(Message* message, uint64_t waiter);
  // The data that the commit in flight saves stays readable when the agent removes its overlays. Before EndCommit,
  // under no lock.
  void KeepInFlight();
  // The waiters of it.
  std::vector<uint64_t> EndCommit(const Answer& answer);
  // The layers up to those of a commit that has ended are of that version now, which was not known when it ended: its
  // failure was told, or another version. False: they have been sent with a later one, or merged.
  bool Saved(uint64_t commit, uint64_t version);
  // The layers with these overlays, whose commits have ended, lie in one file now (null: nothing of them shows), and
  // are one. False: it does not have them, one after another; nothing has changed.
  bool JoinLayers(const std::vector<std::string>& overlays, std::unique_ptr<PooledFile> joined);
  // A waiter gave up; the commit goes on. True when nobody waits for it any longer; *commit is its id.
  bool LeaveCommit(uint64_t waiter, uint64_t* commit);
  bool NeedsCommit() const;
  bool IsCommitting() const;
  // Since the last commit began.
  bool HasChanged() const;
  // The failure of a write that failed, until one succeeds or the file is cut, if the version's own bytes were changed:
  // a half of what the program meant is not committed over it. What only adds to the version is, as on any disk.
  Kind WriteError() const;

  // The layers up to the content's version have been merged into it. False: it is no version that this file has passed.
  bool Rebase(ContentPtr content);
  ContentPtr Base() const;
  // Lets go of the base once nothing is read here any more.
  void LeaveBase();

 private:
  Kind EnsureActive(SharedFd* fd);
  bool NeedsCommitLocked() const;
  bool OnlyAddsLocked() const;

  const CoreSettings& settings_;
  Turns turns_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Layer>> frozen_;  // oldest first
  std::shared_ptr<Layer> active_;
  ContentPtr base_;
  uint64_t base_bytes_;  // how much of the base shows through
  const uint64_t
      opened_bytes_;  // of the version it was opened at, which may be written over without its bytes being here
  uint64_t size_bytes_;
  int64_t mtime_ns_;
  int64_t ctime_ns_;
  uint64_t version_;
  bool is_dirty_ = false;  // since the last freeze
  Kind write_error_ = Kind::kNone;
  uint64_t commit_ = 0;  // in flight
  std::vector<uint64_t> commit_waiters_;
};
using FilePtr = std::shared_ptr<File>;

// An opening, until RELEASE.
struct Handle {
  FilePtr file;
  bool can_write = false;
  // True when its program has closed it, and written nothing since by another descriptor or a mapping.
  std::atomic<bool> is_closing{false};
  // Opened without KEEP_CACHE: the first request by it shows that the kernel has dropped older pages.
  std::atomic<bool> confirms_pages{false};
  // A sequential reader: where it would go on, and how much it has read so.
  std::atomic<uint64_t> next_offset{0};
  std::atomic<uint64_t> run_bytes{0};
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CONTENT_OPEN_FILES_H_
