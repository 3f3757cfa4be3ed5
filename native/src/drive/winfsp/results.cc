#include "results.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "names.h"
#include "nt_status.h"
#include "security.h"
#include "src/file/windows/calls.h"

namespace runnel::drive {
namespace {

constexpr uint32_t kWriteBits = 0222;
constexpr size_t kNameCharsMax = 255;

}  // namespace

Caller ThisCaller() { return {kPersonUid, kPersonGid, static_cast<int32_t>(GetCurrentThreadId())}; }

void FillInfo(const Attributes& attributes, FSP_FSCTL_FILE_INFO* info) {
  *info = {};
  const FileType type = TypeOf(attributes.mode);
  switch (type) {
    case FileType::kFolder: info->FileAttributes = FILE_ATTRIBUTE_DIRECTORY; break;
    case FileType::kSymlink:
      info->FileAttributes = FILE_ATTRIBUTE_REPARSE_POINT;
      info->ReparseTag = IO_REPARSE_TAG_SYMLINK;
      break;
    case FileType::kFile:
      info->FileAttributes = (attributes.mode & kWriteBits) == 0 ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL;
      break;
    default:  // fifos, sockets and devices mean nothing here
      info->FileAttributes = FILE_ATTRIBUTE_SYSTEM;
  }
  if (type == FileType::kFile) {
    info->FileSize = attributes.size_bytes;
    info->AllocationSize = WholeBlocks(attributes.size_bytes);
  }
  const auto time_of = [](int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(0, WindowsTimeOf(ns))); };
  // A volume keeps no time of creation: the earliest that is known has to do, as on other network drives.
  info->CreationTime = time_of(std::min(attributes.mtime_ns, attributes.ctime_ns));
  info->LastAccessTime = time_of(attributes.atime_ns);
  info->LastWriteTime = time_of(attributes.mtime_ns);
  info->ChangeTime = time_of(attributes.ctime_ns);
  info->IndexNumber = attributes.ino;
}

void ResultReply::Error(Kind error) { Take({.error = error}); }

bool ResultReply::Entry(const EntryAnswer& answer) { return Created(answer, nullptr); }

bool ResultReply::Created(const EntryAnswer& answer, Handle* handle) {
  Take({.entry = answer, .handle = handle});
  return true;
}

bool ResultReply::Opened(Handle* handle, bool) {
  Take({.handle = handle});
  return true;
}

bool ResultReply::FolderOpened(FolderHandle* handle) {
  Take({.folder = handle});
  return true;
}

void ResultReply::Attributes(const struct Attributes& attributes, uint32_t) {
  Take({.entry = {.attributes = attributes}});
}

void ResultReply::Data(const char* data, size_t size) { Take({.text = std::string(data, size)}); }

void ResultReply::Written(size_t size) { Take({.written = size}); }

void ResultReply::Filesystem(const Space& space) { Take({.space = space}); }

void ResultReply::SendNames() { Error(Kind::kNone); }

void WaitingReply::Take(Result result) {
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  is_answered_ = true;
  answered_.notify_all();
}

Result WaitingReply::Wait() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return is_answered_; });
  return std::move(result_);
}

LaterReply::LaterReply(const WinFspApi& api, FSP_FILE_SYSTEM* file_system, void* buffer, ULONG length)
    : api_(api), file_system_(file_system), buffer_(buffer), length_(length) {
  const FSP_FSCTL_TRANSACT_REQ* request = api.GetOperationContext()->Request;
  Response()->Size = sizeof(response_);
  Response()->Kind = request->Kind;
  Response()->Hint = request->Hint;
}

void LaterReply::Take(Result result) { Answer(ToNtStatus(result.error), 0); }

void LaterReply::Answer(NTSTATUS status, ULONG transferred) {
  std::unique_lock lock(mutex_);
  Response()->IoStatus.Status = static_cast<UINT32>(status);
  Response()->IoStatus.Information = transferred;
  is_answered_ = true;
  if (!is_pending_) return;
  lock.unlock();
  api_.SendResponse(file_system_, Response());
}

NTSTATUS LaterReply::Return(ULONG* transferred) {
  const std::lock_guard lock(mutex_);
  *transferred = Response()->IoStatus.Information;
  if (is_answered_) return static_cast<NTSTATUS>(Response()->IoStatus.Status);
  is_pending_ = true;
  return STATUS_PENDING;
}

void ReadReply::Data(const char* data, size_t size) {
  if (size == 0) return Answer(STATUS_END_OF_FILE, 0);
  const size_t count = std::min<size_t>(size, length_);
  memcpy(buffer_, data, count);
  Answer(STATUS_SUCCESS, static_cast<ULONG>(count));
}

bool FolderReply::AddName(const std::string& name, const EntryAnswer& answer, uint64_t next_offset) {
  const bool is_dots = name == "." || name == "..";
  std::wstring wide(name.begin(), name.end());
  const bool has_name = is_dots || WindowsNameOf(name, &wide);
  // A name that Windows has no room for is not shown.
  const bool is_shown = has_name && wide.size() <= kNameCharsMax && !(is_dots && is_root_);
  if (is_shown) {
    alignas(FSP_FSCTL_DIR_INFO) uint8_t room[sizeof(FSP_FSCTL_DIR_INFO) + kNameCharsMax * sizeof(wchar_t)] = {};
    auto* item = reinterpret_cast<FSP_FSCTL_DIR_INFO*>(room);
    item->Size = static_cast<UINT16>(sizeof(*item) + wide.size() * sizeof(wchar_t));
    FillInfo(answer.attributes, &item->FileInfo);
    item->NextOffset = next_offset;
    memcpy(room + sizeof(*item), wide.data(), wide.size() * sizeof(wchar_t));
    if (!api_.AddDirInfo(item, buffer_, length_, &used_)) {
      is_full_ = true;
      return false;
    }
  }
  if (answer.id != 0) looked_up_.push_back(answer.id);
  return true;
}

void FolderReply::SendNames() {
  for (const uint64_t id : looked_up_) core_->Forget(id, 1);
  if (!is_full_) api_.AddDirInfo(nullptr, buffer_, length_, &used_);
  Answer(STATUS_SUCCESS, used_);
}

}  // namespace runnel::drive
