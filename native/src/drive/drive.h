// Types that the drive's core and its fronts (fuse/: a kernel, memory/: none) share: plain types, and the two
// interfaces between them. No Node header, no libfuse header.
//
// A Reply is one request of a program, answered exactly once by one of its methods, from any thread and under no lock
// of the core. A Front is what the core needs of its front. All its methods may be called from any thread, under the
// core's locks, and never wait.
#ifndef RUNNEL_DRIVE_DRIVE_H_
#define RUNNEL_DRIVE_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kinds.h"

namespace runnel::drive {

enum class FileType : uint8_t { kFile, kFolder, kSymlink, kFifo, kSocket, kBlock, kChar };

// Bits of st_mode that say the type, and back.
uint32_t ModeOf(FileType type);
FileType TypeOf(uint32_t mode);

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// A node's attributes (DriveEntry of drive.ts).
struct Entry {
  uint64_t node = 0;
  FileType type = FileType::kFile;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 1;
  uint32_t rdev = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t version = 0;
  uint64_t xattrs = 0;  // of the last change of its extended attributes; 0: it has none
  std::string target;
};

using Xattrs = std::map<std::string, std::string>;

// Attributes as stat(2) shows them.
struct Attributes {
  uint64_t ino = 0;
  uint32_t mode = 0;
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t rdev = 0;
  uint64_t size_bytes = 0;
  uint64_t allocated_bytes = 0;  // of disk: its size less the holes that are known
  int64_t atime_ns = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
};

struct EntryAnswer {
  uint64_t id = 0;  // the kernel's
  Attributes attributes = {};
  uint32_t entry_timeout_ms = 0;
  uint32_t attribute_timeout_ms = 0;
};

struct Handle;
struct FolderHandle;

struct Space {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t available_bytes = 0;
  uint64_t total_files = 0;
  uint64_t free_files = 0;
};

struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  int32_t pid = 0;
};

class Reply {
 public:
  virtual ~Reply() = default;
  virtual Caller GetCaller() const = 0;
  // This waits for a close. A program that a signal has brought to its end closes its files when no signal can
  // interrupt it any more: once it is seen to be such a one, DriveCore::Interrupt(waiter) is called.
  virtual void WatchCaller(uint64_t waiter) = 0;
  // The request will wait under this id: from now on the front passes an interrupt to DriveCore::Interrupt(id).
  virtual void OnWaiting(uint64_t waiter) = 0;

  virtual void Error(Kind error) = 0;  // kNone: success without data
  // Those that return bool: false = nobody heard it, so the lookup or the handle does not count.
  virtual bool Entry(const EntryAnswer& answer) = 0;
  virtual bool Created(const EntryAnswer& answer, Handle* handle) = 0;
  virtual bool Opened(Handle* handle, bool keeps_cache) = 0;
  virtual bool FolderOpened(FolderHandle* handle) = 0;
  virtual void Attributes(const struct Attributes& attributes, uint32_t timeout_ms) = 0;
  virtual void Data(const char* data, size_t size) = 0;
  virtual void Written(size_t size) = 0;
  // Answers of these kinds are bytes or a number to most fronts. Size: of extended attributes that were not sent;
  // Offset: of lseek(2).
  virtual void Target(const std::string& target) { Data(target.data(), target.size()); }
  virtual void Size(size_t size) { Written(size); }
  virtual void Offset(uint64_t offset) { Written(static_cast<size_t>(offset)); }
  virtual void Filesystem(const Space& space) = 0;
  // A page of a folder: BeginNames, AddName until it returns false (no room: the name is not in), SendNames.
  virtual void BeginNames(size_t size, bool with_attributes) = 0;
  virtual bool AddName(const std::string& name, const EntryAnswer& answer, uint64_t next_offset) = 0;
  virtual void SendNames() = 0;
};
using ReplyPtr = std::shared_ptr<Reply>;

enum class NameChange : uint8_t { kAdded, kRemoved, kModified };

class Front {
 public:
  virtual ~Front() = default;
  // CLOCK_BOOTTIME and CLOCK_REALTIME.
  virtual int64_t NowBootMs() = 0;
  virtual int64_t NowWallNs() = 0;
  // The clock that the kernel's timeouts run on: it stands still while the machine sleeps, which that of leases does
  // not.
  virtual int64_t NowKernelMs() = 0;
  // There is something for the agent (DriveCore::Drain).
  virtual void WakeAgent() = 0;
  // Runs the task soon, on a thread that may read files, under no lock.
  virtual void Post(std::function<void()> task) = 0;
  // Calls DriveCore::Expire no later than then.
  virtual void WakeAt(int64_t boot_ms) = 0;
  // Tells the kernel, on a thread of its own, to forget a name and then calls DriveCore::Invalidated(id, mark) if there
  // is a mark, or a node's attributes. Not worth doing after `until_ms`, when the kernel has forgotten by itself.
  virtual void InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) = 0;
  virtual void InvalidateAttributes(uint64_t id, int64_t until_ms) = 0;
  // Another client changed what a name of a folder (a node) leads to: for fronts whose programs can watch folders.
  virtual void OnChangedElsewhere(uint64_t folder, const std::string& name, FileType type, NameChange how) {
    (void)folder, (void)name, (void)type, (void)how;
  }
};

// Operations: those that the agent is asked for (DriveRequest of drive.ts), then what is only counted.
enum class Op : uint8_t {
  kLookup,
  kGetattr,
  kList,
  kOpen,
  kCreate,
  kMake,
  kLink,
  kRemove,
  kRename,
  kSetattr,
  kFetch,
  kCommit,
  kStatfs,
  kXattrs,
  kSetxattr,
  kSync,
  kReadlink,
  kRead,
  kWrite,
  kFlush,
  kFsync,
  kRelease,
  kOpendir,
  kReaddir,
  kForget,
  kSeek,
  kCount,
};
constexpr size_t kOps = static_cast<size_t>(Op::kCount);
const char* NameOf(Op op);

enum class RenameHow : uint8_t { kReplace, kKeep, kExchange };
enum class XattrHow : uint8_t { kAny, kCreate, kReplace, kRemove };
enum class CommitReason : uint8_t { kFlush, kFsync, kRelease };

struct LayerRanges {
  std::string path;
  std::vector<ByteRange> extents;
};

// A request to the agent. The fields that mean something depend on `op`; drive.ts says which.
struct Message {
  uint64_t id = 0;
  Op op = Op::kLookup;
  Caller caller = {};
  uint64_t node = 0;
  uint64_t folder = 0;
  std::string name = {};
  uint64_t to_folder = 0;
  std::string to_name = {};
  std::string target = {};
  FileType type = FileType::kFile;
  RenameHow how = RenameHow::kReplace;
  XattrHow how_xattr = XattrHow::kAny;
  std::string value = {};  // of an extended attribute
  CommitReason reason = CommitReason::kFlush;
  bool wants_write = false;
  bool truncates = false;
  bool is_exclusive = false;
  bool is_folder = false;
  uint32_t mode = 0;
  uint32_t rdev = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t size_bytes = 0;
  enum Set : uint8_t { kMode = 1, kUid = 2, kGid = 4, kMtime = 8, kSize = 16 };
  uint8_t set = 0;
  uint64_t content = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t ahead = 0;
  uint64_t file = 0;
  uint64_t base_version = 0;
  uint64_t base_bytes = 0;
  uint64_t read_before = 0;
  std::vector<LayerRanges> layers = {};
  // When the program was answered, before the agent heard of it (EarlyAnswers); 0: it waits for the agent. A removal or
  // rename says what node had the name; a make, what node has it, and whose it is (caller) with which mode.
  int64_t answered_ns = 0;
  uint64_t early_number = 0;  // of its record
};

struct Notice {
  // kReady, kEnded (of close) and kCommitted (of commitDirty) stay within native/.
  enum Type : uint8_t { kInterrupted, kClosed, kUnmounted, kReady, kEnded, kCommitted };
  Type type = kInterrupted;
  uint64_t id = 0;
  uint64_t node = 0;
  std::string reason;
  Kind error = Kind::kNone;
};

// The agent's answer to a message, or why it is not waited for any longer.
struct Answer {
  Kind error = Kind::kNone;
  // True of a commit whose content is a version now.
  bool is_version() const { return error == Kind::kNone && version != 0; }
  bool is_given_up = false;  // deadline, interrupt, end of the drive: the agent did not say this
  uint64_t node = 0;
  uint64_t content = 0;
  uint64_t version = 0;
  Space space;
  std::shared_ptr<const Xattrs> xattrs;
};

struct CoreSettings {
  std::string overlay_folder;
  std::string overlay_prefix;
  uint32_t deadlines_ms[kOps] = {};
  uint64_t entries_max = 100000;
  uint64_t root_node = 1;
  bool is_read_only = false;
  // Folds names that programs take for one to what they have in common, as a kernel without upper and lower case needs
  // it. Null: they differ.
  std::function<std::string(std::string_view)> fold;
  // The most the kernel may answer names and attributes by itself; 0: it asks every time.
  uint32_t kernel_timeout_ms = 1000;
};

constexpr uint64_t kRootId = 1;                        // FUSE_ROOT_ID
constexpr uint64_t kAliasBase = uint64_t{1} << 53;     // kernel ids from here on are aliases, never nodes
constexpr uint64_t kFileBytesMax = uint64_t{1} << 38;  // LIMITS.fileBytes

// The unit of holes and of what files take, as most disks have it.
constexpr uint64_t kBlockBytes = 4096;

// The bytes that a file of that size takes on disk when it has no holes.
constexpr uint64_t WholeBlocks(uint64_t size_bytes) {
  return (size_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_DRIVE_H_
