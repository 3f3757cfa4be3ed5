// The result of a call of the core, for a thread of WinFsp's that waits for it, or for a request that is answered
// later.
//
// WinFsp lets a read and the listing of a folder be answered later, from any thread (LaterReply). Everything else is
// answered when its callback returns, so the thread that WinFsp called waits (WaitingReply), for as long as the
// operation's deadline at most: of those threads there are many (WinFspFront::kThreads). A program that gives up is let
// go by Windows itself, which tells nobody here: its request ends with the answer, or its deadline.
#ifndef RUNNEL_DRIVE_WINFSP_RESULTS_H_
#define RUNNEL_DRIVE_WINFSP_RESULTS_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/drive/core/drive_core.h"
#include "winfsp_api.h"

namespace runnel::drive {

// The caller: the person the agent runs for; the thread in place of a process, since the core wants to know only
// whether it is the same.
Caller ThisCaller();

struct Result {
  Kind error = Kind::kNone;
  EntryAnswer entry = {};  // of lookup, make, create; its attributes also of getattr, setattr
  Handle* handle = nullptr;
  FolderHandle* folder = nullptr;
  std::string text = {};  // of readlink, findname
  size_t written = 0;
  Space space = {};
};

// Answers of every kind come to one method.
class ResultReply : public Reply {
 public:
  Caller GetCaller() const override { return caller_; }
  void WatchCaller(uint64_t) override {}
  void OnWaiting(uint64_t) override {}
  void Error(Kind error) override;
  bool Entry(const EntryAnswer& answer) override;
  bool Created(const EntryAnswer& answer, Handle* handle) override;
  bool Opened(Handle* handle, bool keeps_cache) override;
  bool FolderOpened(FolderHandle* handle) override;
  void Attributes(const struct Attributes& attributes, uint32_t timeout_ms) override;
  void Data(const char* data, size_t size) override;
  void Written(size_t size) override;
  void Filesystem(const Space& space) override;
  void BeginNames(size_t, bool) override {}
  bool AddName(const std::string&, const EntryAnswer&, uint64_t) override { return false; }
  void SendNames() override;

 protected:
  virtual void Take(Result result) = 0;

 private:
  const Caller caller_ = ThisCaller();
};

class WaitingReply final : public ResultReply {
 public:
  Result Wait();

 private:
  void Take(Result result) override;

  std::mutex mutex_;
  std::condition_variable answered_;
  bool is_answered_ = false;
  Result result_;
};

// Calls a method of the core with a reply and these arguments, and waits for its answer.
template <typename Method, typename... Arguments>
Result Await(DriveCore& core, Method method, Arguments&&... arguments) {
  const auto reply = std::make_shared<WaitingReply>();
  (core.*method)(reply, std::forward<Arguments>(arguments)...);
  return reply->Wait();
}

// A request with a buffer that WinFsp keeps until it is answered. Made on the thread that WinFsp called.
class LaterReply : public ResultReply {
 public:
  LaterReply(const WinFspApi& api, FSP_FILE_SYSTEM* file_system, void* buffer, ULONG length);

  // At the end of the callback: the answer when there is one already, else STATUS_PENDING.
  NTSTATUS Return(ULONG* transferred);

 protected:
  // Once.
  void Answer(NTSTATUS status, ULONG transferred);

  const WinFspApi& api_;
  FSP_FILE_SYSTEM* const file_system_;
  void* const buffer_;
  const ULONG length_;

 private:
  void Take(Result result) override;
  FSP_FSCTL_TRANSACT_RSP* Response() { return reinterpret_cast<FSP_FSCTL_TRANSACT_RSP*>(response_); }

  std::mutex mutex_;
  bool is_answered_ = false;
  bool is_pending_ = false;
  // A header; what would follow it is in the buffer.
  alignas(FSP_FSCTL_TRANSACT_RSP) uint8_t response_[sizeof(FSP_FSCTL_TRANSACT_RSP)] = {};
};

class ReadReply final : public LaterReply {
 public:
  using LaterReply::LaterReply;
  void Data(const char* data, size_t size) override;
};

// A page of a folder, as WinFsp packs it. Each name comes with its attributes.
class FolderReply final : public LaterReply {
 public:
  // `is_root`: it shows no "." and "..".
  FolderReply(const WinFspApi& api, FSP_FILE_SYSTEM* file_system, void* buffer, ULONG length, DriveCore* core,
              bool is_root)
      : LaterReply(api, file_system, buffer, length), core_(core), is_root_(is_root) {}

  bool AddName(const std::string& name, const EntryAnswer& answer, uint64_t next_offset) override;
  void SendNames() override;

 private:
  DriveCore* const core_;
  const bool is_root_;
  bool is_full_ = false;
  ULONG used_ = 0;
  std::vector<uint64_t> looked_up_;  // nothing is kept of a listing
};

// Fills in what a program is shown of a file or folder.
void FillInfo(const struct Attributes& attributes, FSP_FSCTL_FILE_INFO* info);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_RESULTS_H_
