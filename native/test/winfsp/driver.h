// A stand-in for WinFsp's driver: takes requests of programs as the kernel passes them on, and calls a file system's
// operations for them on threads of its own, in the order and with the checks of WinFsp 2. Each file system has a
// driver of its own.
//
// Left out, since it is the real driver's alone and a file system has no part in it: share modes, byte-range locks,
// caches, oplocks, patterns.
#ifndef RUNNEL_TEST_WINFSP_DRIVER_H_
#define RUNNEL_TEST_WINFSP_DRIVER_H_

#define WINFSP_DLL_INTERNAL
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#pragma push_macro("_ReadWriteBarrier")
#undef _ReadWriteBarrier
#include <winfsp/winfsp.h>
#pragma pop_macro("_ReadWriteBarrier")

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace runnel::test {

// A handle of a program.
struct FileObject {
  void* context = nullptr;  // UserContext2
  std::wstring path;        // as the file system spells it
  UINT32 access = 0;
  bool is_modified = false;
  bool is_delete_pending = false;
};

struct Listed {
  std::wstring name;
  FSP_FSCTL_FILE_INFO info;
};

// A program's request; which fields mean something depends on the call.
struct Asked {
  std::wstring path;
  std::wstring to;  // of rename, of a link's target
  std::string text;
  UINT32 disposition = FILE_OPEN;
  UINT32 access = 0;
  UINT32 options = 0;
  UINT32 attributes = 0;
  int64_t handle = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t atime = 0;
  uint64_t mtime = 0;
  bool is_on = false;
  std::string bytes;
};

struct StandInReply {
  NTSTATUS status = STATUS_SUCCESS;
  int64_t handle = 0;
  bool has_info = false;
  FSP_FSCTL_FILE_INFO info = {};
  std::string bytes;
  std::wstring text;
  std::vector<Listed> names;
  FSP_FSCTL_VOLUME_INFO volume = {};
};

struct Notification {
  UINT32 action;
  UINT32 filter;
  std::wstring path;
};

class Driver {
 public:
  // The driver of a file system.
  static Driver& Of(FSP_FILE_SYSTEM* file_system);
  // The driver of the drive at a letter, or of a share; where none is named, that of the last drive. nullptr: there is
  // none.
  static Driver* At(const std::wstring& mountpoint);

  // ── what the library's functions do ──
  static NTSTATUS Create(PWSTR device, const FSP_FSCTL_VOLUME_PARAMS* params,
                         const FSP_FILE_SYSTEM_INTERFACE* operations, FSP_FILE_SYSTEM** made);
  void Delete(FSP_FILE_SYSTEM* file_system);
  NTSTATUS Mount(PWSTR mountpoint);
  void Unmount();
  NTSTATUS Start(ULONG threads);
  void Stop(bool is_normal);
  void TakeResponse(const FSP_FSCTL_TRANSACT_RSP* response);
  void TakeNotifications(const FSP_FSCTL_NOTIFY_INFO* info, SIZE_T size);

  // ── what programs do ──
  // Runs the call on one of the file system's threads; `done` on that thread, or on whichever answers.
  // STATUS_DEVICE_NOT_READY without a file system.
  void Ask(const std::string& call, Asked asked, std::function<void(StandInReply)> done);

  std::wstring mountpoint();
  std::wstring prefix();
  std::wstring device();
  FSP_FSCTL_VOLUME_PARAMS params();
  std::vector<Notification> TakeHeard();

 private:
  // A file system with the driver that serves it.
  struct Served {
    FSP_FILE_SYSTEM file_system;
    Driver* driver;
  };

  bool IsFree();
  FSP_FILE_SYSTEM* Make(PWSTR device, const FSP_FSCTL_VOLUME_PARAMS* params,
                        const FSP_FILE_SYSTEM_INTERFACE* operations);

  using Call = StandInReply (Driver::*)(const Asked&);
  void Serve();
  // The file system's context of a handle.
  FileObject* Find(int64_t handle);

  StandInReply OpenFile(const Asked& asked);
  StandInReply CloseFile(const Asked& asked);
  StandInReply Cleanup(const Asked& asked);
  StandInReply Read(const Asked& asked);
  StandInReply Write(const Asked& asked);
  StandInReply Flush(const Asked& asked);
  StandInReply GetInfo(const Asked& asked);
  StandInReply SetBasic(const Asked& asked);
  StandInReply SetSize(const Asked& asked);
  StandInReply SetDisposition(const Asked& asked);
  StandInReply Rename(const Asked& asked);
  StandInReply List(const Asked& asked);
  StandInReply DirInfo(const Asked& asked);
  StandInReply GetSecurity(const Asked& asked);
  StandInReply SetSecurity(const Asked& asked);
  StandInReply GetLink(const Asked& asked);
  StandInReply SetLink(const Asked& asked);
  StandInReply GetVolume(const Asked& asked);

  NTSTATUS OpenOnce(const Asked& asked, std::wstring* path, StandInReply* told);
  // Checks access as WinFsp does: the file's own descriptor, or for a removal that of its folder.
  NTSTATUS Check(std::wstring path, UINT32 access, UINT32 options, bool checks_folder, UINT32* link_at);
  // Gives `run` an operation context, and waits when it answers STATUS_PENDING.
  NTSTATUS Transact(UINT32 kind, const std::function<NTSTATUS()>& run, ULONG* transferred);
  FSP_FILE_SYSTEM* FileSystem() { return file_system_; }
  const FSP_FILE_SYSTEM_INTERFACE& Operations() { return *file_system_->Interface; }

  std::mutex mutex_;
  std::condition_variable changed_;
  FSP_FILE_SYSTEM* file_system_ = nullptr;
  FSP_FSCTL_VOLUME_PARAMS params_ = {};
  std::wstring device_;
  std::wstring mountpoint_;
  std::vector<std::thread> threads_;
  std::deque<std::function<void()>> queue_;
  bool is_stopping_ = false;
  std::map<int64_t, FileObject> files_;
  uint64_t next_hint_ = 1;
  std::map<uint64_t, std::pair<NTSTATUS, ULONG>> responses_;
  std::vector<Notification> heard_;
};

}  // namespace runnel::test

#endif  // RUNNEL_TEST_WINFSP_DRIVER_H_
