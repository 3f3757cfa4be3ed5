// A drive of Windows, through WinFsp's native interface: a network drive at a drive letter or as a share alone, so
// that Explorer makes no thumbnails and indexes nothing.
//
// What WinFsp's driver does itself: it keeps the share modes and byte-range locks of this machine's programs, by the
// path that a file was opened by; it refuses names with characters that Windows has none of, matches patterns, and
// checks rights against the descriptors given out here. What is kept by it: nothing. Names, attributes and bytes are
// asked for every time (a timeout of 0), since it has no way to be told of a change before a program asks; so no
// request comes by a name that has changed since, and none is answered ESTALE but in a race.
//
// Threads: kThreads of WinFsp's bring requests and may wait for the agent; ours are the worker, which runs what the
// core posts, the timer, the notifier, which tells those who watch folders of changes elsewhere, and the closer. Start,
// Close, EndNow and the getters belong to the agent's thread. Locks: each queue has its own mutex, a leaf;
// opened_mutex_ is a leaf.
#ifndef RUNNEL_DRIVE_WINFSP_WINFSP_FRONT_H_
#define RUNNEL_DRIVE_WINFSP_WINFSP_FRONT_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "security.h"
#include "src/drive/core/drive_core.h"
#include "src/drive/kernel_front.h"
#include "src/drive/threads/alarm_clock.h"
#include "src/drive/threads/task_queue.h"
#include "winfsp_api.h"

namespace runnel::drive {

// An opening of a file or folder, from Create or Open until Close. It holds one lookup of its id.
struct Opened {
  uint64_t id = 0;
  bool is_folder = false;
  bool is_root = false;
  Handle* handle = nullptr;  // only of files that may be read or written by it
  std::mutex mutex;
  FolderHandle* folder = nullptr;  // from the first listing on; under the mutex
};

class WinfspFront final : public Front, public KernelFront {
 public:
  WinfspFront(Settings settings, CoreSettings core_settings, std::function<void()> wake_agent);
  // Waits for the closer.
  ~WinfspFront() override;

  DriveCore& core() override { return core_; }
  const WinFspApi& api() const { return *api_; }
  const Person& person() const { return person_; }
  const std::wstring& label() const { return label_; }
  bool is_read_only() const { return settings_.is_read_only; }

  std::string Start() override;
  void Close(bool force, std::function<void(Ending)> done) override;
  void EndNow() override;

  // Openings that WinFsp holds of us. Add takes the lookup of the id; Remove lets everything go.
  Opened* Add(uint64_t id, const Attributes& attributes, Handle* handle);
  void Remove(Opened* opened);
  // Another node is open in its place, without content. Takes the lookup of its id.
  void Replace(Opened* opened, uint64_t id);
  // WinFsp's driver has ended the drive, not we.
  void OnEndedOutside();

  // Front.
  int64_t NowBootMs() override;
  int64_t NowWallNs() override;
  int64_t NowKernelMs() override;
  void WakeAgent() override { wake_agent_(); }
  void Post(std::function<void()> task) override { tasks_.Post(std::move(task)); }
  void WakeAt(int64_t boot_ms) override { alarm_.WakeAt(boot_ms); }
  void InvalidateName(uint64_t folder_id, std::string name, uint64_t id, uint64_t mark, int64_t until_ms) override;
  void InvalidateAttributes(uint64_t, int64_t) override {}
  void OnChangedElsewhere(uint64_t folder, const std::string& name, FileType type, NameChange how) override;

 private:
  struct Change {
    uint64_t folder;
    std::string name;
    FileType type;
    NameChange how;
  };
  // A request that the agent has to answer first keeps its thread: so many wait beside one another.
  static constexpr ULONG kThreads = 64;
  // Past this nobody is told any longer who watches; a listing shows what is.
  static constexpr size_t kChangesMax = 4096;

  std::string Mount();
  // No request is under way any longer.
  void RemoveAll();
  void Notify();
  // False when nobody is to be told.
  bool BeginTelling();
  void Report(const std::deque<Change>& changes);
  bool CloseNow(bool force);
  void StopThreads();

  const Settings settings_;
  const std::function<void()> wake_agent_;
  const Person person_ = ThisPerson();
  std::wstring label_;
  const WinFspApi* api_ = nullptr;
  DriveCore core_;
  FSP_FILE_SYSTEM* file_system_ = nullptr;
  std::atomic<bool> has_ended_{false};

  std::thread worker_;
  std::thread timer_;
  std::thread notifier_;
  std::thread closer_;
  TaskQueue tasks_;
  AlarmClock alarm_{[this] { return NowBootMs(); }, [this](int64_t now_ms) { return core_.Expire(now_ms); }};

  std::mutex opened_mutex_;
  std::unordered_set<Opened*> opened_;
  size_t files_in_use_ = 0;

  std::mutex changes_mutex_;
  std::condition_variable changes_ready_;
  std::deque<Change> changes_;
  bool changes_end_ = false;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_WINFSP_FRONT_H_
