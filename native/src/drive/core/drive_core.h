// The drive without a kernel: what each request of a program does, from the tables or by asking the agent. Fronts call
// the first group of methods, the bridge the second.
//
// Threads: every method may be called from any thread and none waits for the agent or the kernel. Reads and writes of
// cache and overlay files happen on the thread that brings the request, or in Front::Post; never on the agent's. Locks:
// mutex_ (tables, kernel nodes, the "core" members of File) before File::mutex_, Content::mutex_ and the request
// table's, which are leaves. A turn of a File is taken without mutex_. No Reply is called and nothing posted runs under
// a lock. How much cache and overlay files take on disk is looked up under mutex_ (open, fstat, a bounded number of
// lseek); nothing else that asks the system is.
//
// The methods stand in: core_names.cc (lookup, make, link, remove, rename), core_attributes.cc (getattr, setattr,
// readlink, statfs), core_xattrs.cc, core_folders.cc, core_open.cc, core_files.cc (read, write), core_commit.cc (flush,
// fsync, release), core_early.cc (changes that the agent hears of later), core_agent.cc (the second group),
// drive_core.cc (what they share).
#ifndef RUNNEL_DRIVE_CORE_DRIVE_CORE_H_
#define RUNNEL_DRIVE_CORE_DRIVE_CORE_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/drive/content/content.h"
#include "src/drive/content/open_files.h"
#include "src/drive/drive.h"
#include "src/drive/early/early_answers.h"
#include "src/drive/tables/cuts.h"
#include "src/drive/tables/entry_table.h"
#include "src/drive/tables/held_xattrs.h"
#include "src/drive/tables/kernel_nodes.h"
#include "src/drive/tables/last_read.h"
#include "src/drive/tables/request_table.h"
#include "src/drive/tables/second_tries.h"
#include "src/drive/tables/stale_folders.h"

namespace runnel::drive {

// An opening of a folder. The listing is taken at offset 0 and kept, so offsets are stable until the next rewind.
struct FolderHandle {
  uint64_t id = 0;
  uint64_t node = 0;
  std::mutex mutex;
  std::shared_ptr<const std::vector<EntryTable::Listed>> listing;
};

// Flags of setxattr(2) (include/uapi/linux/xattr.h).
constexpr int kXattrMustBeNew = 1;
constexpr int kXattrMustBeThere = 2;

struct SetAttributes {
  uint8_t set = 0;  // Message::Set
  bool sets_atime = false;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size_bytes = 0;
  int64_t atime_ns = 0;
  int64_t mtime_ns = 0;
};

struct Statistics {
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t native[kOps] = {};
  uint64_t passed[kOps] = {};
  uint64_t open_files = 0;
  uint64_t pending_requests = 0;
  uint64_t entries = 0;
  uint64_t kernel_nodes = 0;
};

class DriveCore {
 public:
  struct Put {
    uint64_t folder = 0;
    std::string name;
    bool is_absent = false;
    Entry entry;
  };

  DriveCore(Front* front, CoreSettings settings);

  // ── what programs ask ──
  void Lookup(ReplyPtr reply, uint64_t folder_id, std::string_view name);
  // Looks up a node by its number, as a client does that keeps numbers over the life of a drive; or the folder that it
  // lies in, as far as that is known.
  void Reach(ReplyPtr reply, uint64_t node, bool wants_parent);
  void Forget(uint64_t id, uint64_t lookups);
  void GetAttributes(ReplyPtr reply, uint64_t id);
  void SetAttributesOf(ReplyPtr reply, uint64_t id, Handle* handle, const SetAttributes& set);
  void ReadLink(ReplyPtr reply, uint64_t id);
  void Make(ReplyPtr reply, uint64_t folder_id, std::string_view name, FileType type, uint32_t mode, uint32_t rdev,
            std::string_view target);
  void Link(ReplyPtr reply, uint64_t id, uint64_t folder_id, std::string_view name);
  void Remove(ReplyPtr reply, uint64_t folder_id, std::string_view name, bool is_folder);
  void Rename(ReplyPtr reply, uint64_t folder_id, std::string_view name, uint64_t to_folder_id,
              std::string_view to_name, RenameHow how);
  void Create(ReplyPtr reply, uint64_t folder_id, std::string_view name, uint32_t mode, int flags);
  void Open(ReplyPtr reply, uint64_t id, int flags);
  void Read(ReplyPtr reply, Handle* handle, uint64_t offset, size_t size);
  // `is_writeback`: of pages that a program has mapped; the kernel hears of an error only, of no size.
  void Write(ReplyPtr reply, Handle* handle, uint64_t offset, const char* data, size_t size, bool is_writeback);
  void Allocate(ReplyPtr reply, Handle* handle, int mode, uint64_t offset, uint64_t length);
  // SEEK_DATA or SEEK_HOLE.
  void Seek(ReplyPtr reply, Handle* handle, uint64_t offset, bool wants_data);
  void Flush(ReplyPtr reply, Handle* handle);
  void Fsync(ReplyPtr reply, Handle* handle);
  // Makes safe from a power cut all that programs were answered before.
  void Sync(ReplyPtr reply);
  void Release(Handle* handle);
  void OpenFolder(ReplyPtr reply, uint64_t id);
  void ReadFolder(ReplyPtr reply, FolderHandle* handle, uint64_t offset, size_t size, bool with_attributes);
  void ReleaseFolder(FolderHandle* handle);
  // Answers Target with the first name of a folder, in the order of bytes, that folds as `like` does
  // (CoreSettings::fold), or is there at all (nothing); kNotFound when none does.
  void FindName(ReplyPtr reply, uint64_t folder_id, std::optional<std::string> like);
  void StatFilesystem(ReplyPtr reply);
  // `room` 0: only the size is asked for.
  void GetXattr(ReplyPtr reply, uint64_t id, std::string_view name, size_t room);
  void ListXattrs(ReplyPtr reply, uint64_t id, size_t room);
  void SetXattr(ReplyPtr reply, uint64_t id, std::string_view name, std::string_view value, int flags);
  void RemoveXattr(ReplyPtr reply, uint64_t id, std::string_view name);
  void Interrupt(uint64_t waiter) { requests_.Interrupt(waiter); }
  bool IsWaiting(uint64_t waiter) { return requests_.IsWaiting(waiter); }

  // ── what the agent says ──
  void PutEntries(std::vector<Put> puts, bool is_changed);
  void PutFolder(uint64_t folder, std::vector<EntryTable::NewName> listing);
  void PutNode(const Entry& entry, bool is_changed);
  void DropFolder(uint64_t folder);  // 0: everything
  void SetLease(int64_t until_boot_ms) { lease_until_ms_.store(until_boot_ms, std::memory_order_release); }
  // Programs may be answered before the agent hears of what they change: in a file at that path it is kept meanwhile,
  // whose records of before the agent has taken in. False: that cannot be; none is.
  bool OpenEarlyLog(const std::string& path, const std::string& boot, uint64_t next) {
    std::lock_guard lock(mutex_);
    return early_.OpenLog(path, boot, next);
  }
  // Numbers for nodes that programs make so, in place of those that are left.
  void GiveNodes(uint64_t first, uint64_t count) {
    std::lock_guard lock(mutex_);
    early_.GiveNodes(first, count);
  }
  // Programs are answered so from now on, while there is a lease. False: none is from this moment on, and what was
  // answered is among what is to be drained.
  void AllowEarly(bool is_allowed);
  // The agent has taken in a change that was answered early; its answer to the message says that it is recorded, too.
  // True: it is to put anew what the change is of.
  bool TookIn(uint64_t id);
  void PutContent(ContentPtr content);
  bool PutRanges(uint64_t content, const std::vector<ByteRange>& present);
  bool DropContent(uint64_t content);
  // Withdraws a content from further opens; the file that is open over it reads on. False: another file is open over it
  // too.
  bool DropContentBut(uint64_t content, uint64_t file);
  // Every file over it reads on from another one of the same version, which has been put. False: that one is not there.
  bool ReplaceContent(uint64_t content, uint64_t by);
  // The drive has ended: no descriptor waits until the agent's collector comes by.
  void DropContents();
  void Settle(uint64_t id, const Answer& answer) { requests_.Settle(id, answer); }
  void Prolong(uint64_t id) { requests_.Prolong(id); }
  void SetDeadlineMin(uint32_t delay_ms) { requests_.SetDeadlineMin(delay_ms); }
  void Heartbeat(int64_t late_ms) { requests_.Heartbeat(late_ms); }
  bool Rebase(uint64_t file, uint64_t content);
  bool JoinLayers(uint64_t file, const std::vector<std::string>& overlays, const std::string& path);
  bool Saved(uint64_t file, uint64_t commit, uint64_t version, bool is_elsewhere);
  // Commits every file with unsaved writes, for nobody in particular. A notice kCommitted says when what was written
  // before has been answered.
  void CommitDirty(uint64_t ticket);
  std::vector<Outgoing> Drain(size_t most) { return requests_.Drain(most); }
  // Says kCommitted when the agent has been given all that is for it now.
  void Barrier(uint64_t ticket) { requests_.Notify({Notice::kCommitted, ticket, 0, {}, Kind::kNone}); }
  void Notify(Notice notice) { requests_.Notify(std::move(notice)); }
  Statistics GetStatistics();

  // ── what the front does ──
  int64_t Expire(int64_t now_ms) { return requests_.Expire(now_ms); }
  void Invalidated(uint64_t id, uint64_t mark);
  // The names that lead from the root to a folder (a node), as far as they are known here; false when one is not.
  bool PathOf(uint64_t folder, std::vector<std::string>* names);
  // From now on everything that would wait is answered kIo.
  void End() { requests_.End(Kind::kIo); }
  // After End, before ReleaseAll where answers come by another thread: none is under way any more.
  void AwaitAnswers() { requests_.AwaitAnswers(); }
  // The mount is gone and no request is in progress: whatever is still open is released, dirty files are committed.
  void ReleaseAll();

 private:
  using Resume = std::function<void(const Answer&)>;

  static constexpr size_t kDeepest = 1024;         // folders of a path
  static constexpr int64_t kJustChangedMs = 2000;  // names that changed so lately get none
  static constexpr int64_t kMarkMs = 1000;
  // The longest time between a program's finding a name and its request by id; it may lose its processor there.
  static constexpr int64_t kFoundBeforeMs = 100;
  // The time after an ESTALE in which a lookup may be its retry, and how long after that lookup its open.
  static constexpr int64_t kRetryMs = 1000;
  static constexpr int64_t kRetryOpenMs = 250;

  void AskAgent(const ReplyPtr& reply, Message message, Resume resume);
  void CountNative(Op op) { native_[static_cast<size_t>(op)].fetch_add(1, std::memory_order_relaxed); }
  void CountPassed(Op op) { passed_[static_cast<size_t>(op)].fetch_add(1, std::memory_order_relaxed); }
  bool HasLease(int64_t now_ms) const { return now_ms < lease_until_ms_.load(std::memory_order_acquire); }

  // Methods whose name ends in "Locked" need mutex_.
  static Kind CheckName(std::string_view name);
  Kind CheckChange(std::string_view name) const { return settings_.is_read_only ? Kind::kReadOnly : CheckName(name); }
  // The node of a folder in which something is to change; 0 when the request has been answered ESTALE.
  uint64_t FolderToChange(const ReplyPtr& reply, uint64_t id, std::string_view name);
  // Answers an error, under no lock.
  static void Refuse(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, Kind error);
  // True of a file that whoever opens it here has as its programs left it, though others may have saved `version`
  // since: it is being written to, or that is its own.
  static bool IsShared(const File& file, uint64_t version);
  // Called by requests that close the file, or write to it after that.
  static void SetClosing(Handle* handle, bool is_closing);
  static bool IsOfOtherVersion(const KernelNode& kernel_node, const Entry& entry);
  // Answers ESTALE: the kernel looks the name up again, once.
  void ReplyStale(const ReplyPtr& reply);
  bool IsStaleLocked(KernelNode& kernel_node, int32_t thread, int64_t now_ms);
  // Tells the same of the name of a file itself.
  bool IsNameStaleLocked(KernelNode& kernel_node, int32_t thread, int64_t now_ms);
  // True when a request names a folder, or something in one, that the kernel may have found by a name which leads
  // elsewhere now: it is to walk the path anew, once.
  bool IsPathStaleLocked(const SecondTries::Named& named, SecondTries::Step step, int32_t thread, int64_t now_ms) {
    return JudgeLocked(named, step, thread, now_ms) == SecondTries::Answer::kSendBack;
  }
  SecondTries::Answer JudgeLocked(const SecondTries::Named& named, SecondTries::Step step, int32_t thread,
                                  int64_t now_ms);
  // True when the node may have been reached by a stale name.
  bool IsBelowStaleLocked(uint64_t node, int64_t kernel_now_ms);
  // Answers that a name is absent, unless the kernel looks for it in a folder that it has found by a stale name, and it
  // is where that name leads now.
  void ReplyAbsent(const ReplyPtr& reply, uint64_t folder, const std::string& name, int round = 0);
  // Follows a path below a folder; `at` has the first name that is not known.
  struct Name {
    uint64_t folder = 0;
    std::string name;
  };
  EntryTable::Known FindPathLocked(uint64_t folder, const std::vector<std::string>& path, Name* at);
  // The same for a name in a folder, by each stale name that may have led there.
  EntryTable::Known FindElsewhereLocked(uint64_t folder, const std::string& name, Name* at);
  // An open folder, or file, is asked about without its handle.
  bool IsOpenLocked(const KernelNode& kernel_node) const;
  // Try of a thread that a request is, when the first was answered ESTALE: the kernel makes two.
  enum class Try : uint8_t { kFirst, kPerhapsSecond, kSecond };
  // Asked once for each request: it forgets.
  Try TakeTryLocked(uint64_t id, int32_t thread, int64_t now_ms);
  void NoteAskedLocked(uint64_t id, int32_t thread, int64_t now_ms);
  // Renews what was noted, since the thread may have been given another node than the one for which it was sent back.
  void NoteLookedUpLocked(uint64_t folder, std::string_view name, uint64_t id, int32_t thread);
  // The time that the kernel may keep attributes, and a file's name.
  uint32_t TimeoutLocked(const Entry& entry, const KernelNode& kernel_node, int64_t changed_ms, int64_t now_ms) const;
  // The time that it may keep a folder's name, which has nothing to do with the folder's attributes.
  uint32_t FolderNameTimeoutLocked(uint64_t node, int64_t changed_ms, int64_t now_ms) const;
  uint32_t WithinLease(int64_t now_ms) const;
  // Attributes of what is open there, or of `known`.
  Attributes AttributesLocked(const KernelNode& kernel_node, const Entry* known) const;
  EntryAnswer GiveEntryLocked(const EntryTable::Found& found, bool is_lookup);
  // The entry that may still be shown of a node that has lost its last name, or null.
  const Entry* RemovedLocked(const KernelNode& kernel_node, int64_t now_ms) const;
  // False when the table cannot say.
  bool GiveAttributesLocked(KernelNode& kernel_node, bool trusts_table, Attributes* attributes, uint32_t* timeout_ms);
  void UndoLookup(uint64_t id) { Forget(id, 1); }
  // False when nothing is known of the node.
  bool ReplyNode(const ReplyPtr& reply, uint64_t node);
  // Replies with the entry that the agent has put, after it has answered. `node`: that of a change which was answered
  // early, after which another program may have taken the name; else 0.
  void ReplyEntry(const ReplyPtr& reply, uint64_t folder, const std::string& name, uint64_t node);
  // Asks about the name that the message has, and replies so.
  void AskForEntry(const ReplyPtr& reply, Message message);
  void ReplyAttributes(const ReplyPtr& reply, uint64_t id);

  // Answers a change that the agent is to hear of only; false: it is to be asked.
  bool AnswersEarly(const ReplyPtr& reply, const Message& message, Answer* answer);
  bool ChangeEarlyLocked(Message* message, int64_t now_ms);
  bool MakeEarlyLocked(Message* message, int64_t now_ms);
  bool LinkEarlyLocked(Message* message, int64_t now_ms);
  bool RemoveEarlyLocked(Message* message, int64_t now_ms);
  bool RenameEarlyLocked(Message* message, int64_t now_ms);
  bool SetEarlyLocked(Message* message, int64_t now_ms);
  // The node of a name, where that is all that leads to it; else null.
  const Entry* OnlyNameLocked(uint64_t folder, std::string_view name);
  bool IsShallowLocked(uint64_t folder) const;
  // A folder takes that name, for all that the agent and servers may say.
  bool TakesNameLocked(uint64_t folder, const std::string& name);
  // Entry null: takes the name away.
  void BindEarlyLocked(uint64_t folder, const std::string& name, const Entry* entry, int64_t now_ms);
  // Names of a folder have changed; it has so many subfolders more.
  void TouchFolderLocked(uint64_t folder, int64_t wall_ns, int subfolders, int64_t now_ms);
  // A question of which nothing is held: what was answered early and the agent has not heard of does not concern it.
  bool MayOvertake(const Message& message);
  // Makes what the agent says of a node what programs are to see, where something of it is held. False: it has gone.
  bool MergeHeldLocked(Entry* entry);
  // Says whether a name is held, of which the agent says something.
  bool IsHeldLocked(uint64_t folder, const std::string& name);
  void KeepHeldLocked(uint64_t folder, std::vector<EntryTable::NewName>* listing);
  void DropLocked(uint64_t folder);

  void OnPutLocked(const Entry& entry, bool is_changed, int64_t now_ms);
  void OnLostLocked(uint64_t folder, const std::vector<EntryTable::Lost>& lost, bool reports_to_kernel);
  void PutChangedLocked(const Put& put, int64_t now_ms, std::vector<EntryTable::Lost>* lost);
  // Has the kernel forget a name; `is_stale`: it leads elsewhere now, and until then requests by its old id are
  // answered ESTALE.
  void ForgetNameLocked(uint64_t folder, const std::string& name, KernelNode& kernel_node, int64_t until_ms,
                        bool is_stale);
  // Answers requests by that id, or below a folder, ESTALE until then; of a file, for kMarkMs at most. Returns the
  // mark.
  uint64_t MarkStaleLocked(KernelNode& kernel_node, int64_t until_ms, uint64_t folder, const std::string& name);
  // A name that a program of this mount takes away, which the kernel may hold until it has the answer. It is stale at
  // once: another client may have taken it away in the same moment, and this change be refused.
  void NoteTakenLocked(uint64_t folder, const EntryTable::Lost& lost);
  // The change of this mount that takes a name away is answered. Refused, it tells the kernel nothing of the name.
  void OnTaken(uint64_t folder, const std::string& name, bool is_done);
  // Another client has bound such a name anew: the kernel is told of that, too.
  void ForgetTakenLocked(uint64_t folder, const std::string& name);
  void EvictLocked();
  struct Victim {
    uint64_t node = 0;
    Entry entry;
  };
  Victim FindVictimLocked(uint64_t folder, std::string_view name);
  void OnRemovedHere(const Victim& victim);
  // A name as the kernel was given it, before a rename.
  struct Given {
    uint64_t node = 0;
    int64_t until_ms = EntryTable::kNeverMs;
    uint64_t id = 0;
  };
  Given FindGivenLocked(uint64_t folder, std::string_view name);
  // The kernel keeps the time of a name that a program moved.
  void OnMovedHere(const Given& given, uint64_t folder, const std::string& name);
  // It takes along what it still has under the name, though another client has bound that to something else.
  void ForgetMoved(uint64_t folder, const std::string& name, uint64_t to_folder, const std::string& to_name);

  void SetRest(const ReplyPtr& reply, uint64_t id, uint64_t node, const FilePtr& file, SetAttributes set);

  void WithXattrs(const ReplyPtr& reply, uint64_t id, std::function<void(const Xattrs&)> use);
  void HoldXattrs(uint64_t node, uint64_t seq, XattrsPtr xattrs);
  void ChangeXattr(const ReplyPtr& reply, uint64_t id, std::string_view name, Message message);

  // The file that is open there, if an open of `version` may share it; else the open is to be answered ESTALE when
  // *is_stale.
  FilePtr FileToShareLocked(KernelNode& kernel_node, uint64_t version, Try which, int64_t now_ms, bool* is_stale);
  Handle* AddHandleLocked(const FilePtr& file, int flags, bool keeps_cache);
  void ConfirmPages(Handle* handle);
  FilePtr AttachLocked(KernelNode& kernel_node, uint64_t version, ContentPtr base);
  void FinishOpen(std::unique_lock<std::mutex> lock, const ReplyPtr& reply, KernelNode& kernel_node, FilePtr file,
                  int flags);
  void OpenWith(std::unique_lock<std::mutex> lock, const ReplyPtr& reply, uint64_t id, int flags, Try which);
  // Begins an open anew, of which the kernel makes no other try.
  void OpenAgain(const ReplyPtr& reply, uint64_t id, int flags, Try which);
  void OnOpened(const ReplyPtr& reply, uint64_t id, int flags, Try which, const Answer& answer);
  // The range that was absent from a content when the agent last said that it had come.
  struct Missed {
    uint64_t content = 0;  // none
    uint64_t offset = 0;
  };
  void ReadFile(const ReplyPtr& reply, const FilePtr& file, uint64_t offset, size_t size, uint64_t ahead,
                const Missed& last);
  void FetchMissing(const ReplyPtr& reply, const FilePtr& file, const File::Plan& plan, uint64_t offset, size_t size,
                    uint64_t ahead);
  // Calls `done` once, when what was written before is committed, or cannot be. `reply` (may be null) is who waits. It
  // holds the file: the agent may answer, and the program close, before it returns.
  void Commit(const ReplyPtr& reply, FilePtr file, CommitReason reason, int64_t deadline_ms, int round,
              std::function<void(Kind)> done);
  // There is nothing to commit.
  void OnClean(const ReplyPtr& reply, CommitReason reason, const std::function<void(Kind)>& done);
  // Asks the agent for it, and answers `waiter` before that where this may be.
  void AskForCommit(const FilePtr& file, Message message, uint64_t waiter);
  bool CommitsEarlyLocked(Message* message);
  void OnCommitted(const FilePtr& file, const Answer& answer);
  void OnVersionLocked(File& file);
  void GoElsewhereLocked(File& file);
  // After a release or a commit: commits what no writer is left to commit, or lets the file go.
  void Finish(const FilePtr& file);

  // Bytes of disk of what stat shows with that size: what is known here of its holes.
  uint64_t AllocatedLocked(const KernelNode& kernel_node, const Entry& entry, uint64_t size_bytes) const;
  // Has the reply wait while the agent cuts the node's file, and then calls `then`, on the agent's thread. False: it
  // does not, and the lock is still held.
  bool WaitsForCut(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, uint64_t node, Op op,
                   std::function<void()> then);
  void EndCut(uint64_t node);
  // A file that is not open here is cut by the agent: how much it took before, and what is left of that.
  uint64_t AllocatedBefore(uint64_t id);
  void KeepAllocated(uint64_t id, uint64_t size_bytes, uint64_t allocated_bytes);

  // False when the table does not know the whole folder.
  bool SendNameLocked(std::unique_lock<std::mutex>* lock, const ReplyPtr& reply, uint64_t folder,
                      const std::optional<std::string>& like);
  void SendFolder(const ReplyPtr& reply, FolderHandle* handle, uint64_t offset, size_t size, bool with_attributes);

  Front* const front_;
  const CoreSettings settings_;
  RequestTable requests_;
  std::atomic<int64_t> lease_until_ms_{0};
  std::atomic<uint64_t> native_[kOps] = {};
  std::atomic<uint64_t> passed_[kOps] = {};
  std::atomic<uint64_t> read_bytes_{0};
  std::atomic<uint64_t> written_bytes_{0};

  std::mutex mutex_;
  EntryTable entries_;
  KernelNodes nodes_;
  StaleFolders stale_folders_;
  SecondTries second_tries_;
  // The kernel may know the name of some folder until then, on its clock.
  int64_t folders_named_until_ms_ = 0;
  ContentTable contents_;
  HeldXattrs held_xattrs_;
  LastRead last_read_;
  Cuts cuts_;
  EarlyAnswers early_;
  std::unordered_map<uint64_t, FilePtr> files_;
  std::unordered_set<Handle*> handles_;
  std::unordered_set<FolderHandle*> folder_handles_;
  uint64_t next_file_ = 1;
  uint64_t next_mark_ = 1;
  int64_t answered_stale_ms_ = EntryTable::kNeverMs;
  // The kernel id for which the thread was sent back to look again (what it was given then, once it has looked), and
  // until when its next request for that is taken for the kernel's second try.
  struct Asked {
    uint64_t id;
    int64_t until_ms;
  };
  static constexpr size_t kAskedMax = 256;
  std::unordered_map<int32_t, Asked> asked_;  // by thread
  struct Taken {
    uint64_t folder;
    std::string name;
    uint64_t id;  // the kernel's
    int64_t until_ms;
    uint64_t mark;
  };
  // Names taken in the last second, oldest first.
  std::deque<Taken> taken_;
  // Stale names that the kernel was told to forget, until when it has.
  std::deque<Taken> forgotten_;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_CORE_DRIVE_CORE_H_
