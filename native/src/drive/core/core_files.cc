// Reading and writing open files.
#include <algorithm>
#include <cstring>

#include "drive_core.h"
#include "src/drive/content/overlay_file.h"

namespace runnel::drive {
namespace {

constexpr uint64_t kAheadMax = 8 << 20;
constexpr uint64_t kAheadFrom = 256 << 10;  // a run this long is a sequential reader
constexpr uint64_t kRunSlack = 2 << 20;     // the kernel's read-ahead may arrive in another order

// Space for one read of this thread.
char* ReadBuffer(size_t size) {
  thread_local std::unique_ptr<char[]> buffer;
  thread_local size_t capacity = 0;
  if (size > capacity) {
    buffer = std::make_unique_for_overwrite<char[]>(size);
    capacity = size;
  }
  return buffer.get();
}

Kind ReadSegments(const File::Plan& plan, uint64_t offset, char* to) {
  for (const File::Segment& segment : plan.segments) {
    char* at = to + (segment.offset - offset);
    if (segment.fd == nullptr) {
      memset(at, 0, segment.length);
      continue;
    }
    // A file may be shorter than its presence says.
    if (const Kind error = ReadOverlay(segment.fd->Get(), segment.offset, at, segment.length); error != Kind::kNone)
      return error;
  }
  return Kind::kNone;
}

}  // namespace

void DriveCore::Read(ReplyPtr reply, Handle* handle, uint64_t offset, size_t size) {
  ConfirmPages(handle);
  const uint64_t next = handle->next_offset.load(std::memory_order_relaxed);
  uint64_t run = handle->run_bytes.load(std::memory_order_relaxed);
  const bool goes_on = offset + kRunSlack >= next && offset <= next + kRunSlack;
  run = goes_on ? run + size : size;
  handle->run_bytes.store(run, std::memory_order_relaxed);
  handle->next_offset.store(std::max(goes_on ? next : 0, offset + size), std::memory_order_relaxed);
  const uint64_t ahead = run >= kAheadFrom ? std::min(run, kAheadMax) : 0;
  CountNative(Op::kRead);
  ReadFile(reply, handle->file, offset, size, ahead, {});
}

// `last`: so that a wrong answer ends in EIO, not in a loop.
void DriveCore::ReadFile(const ReplyPtr& reply, const FilePtr& file, uint64_t offset, size_t size, uint64_t ahead,
                         const Missed& last) {
  File::Plan plan = file->PlanRead(offset, size);
  if (plan.missing_end != 0) {
    if (plan.base->id == last.content && plan.missing_offset == last.offset) return reply->Error(Kind::kIo);
    return FetchMissing(reply, file, plan, offset, size, ahead);
  }
  char* buffer = ReadBuffer(plan.size_bytes);
  // A file that cannot be opened here is the agent's doing, not the program's.
  if (plan.Open() != Kind::kNone) return reply->Error(Kind::kIo);
  if (const Kind error = ReadSegments(plan, offset, buffer); error != Kind::kNone) return reply->Error(error);
  read_bytes_.fetch_add(plan.size_bytes, std::memory_order_relaxed);
  reply->Data(buffer, plan.size_bytes);
}

void DriveCore::FetchMissing(const ReplyPtr& reply, const FilePtr& file, const File::Plan& plan, uint64_t offset,
                             size_t size, uint64_t ahead) {
  const ContentPtr content = plan.base;
  const uint64_t missing = plan.missing_offset;
  const uint64_t waiter = requests_.NewId();
  const Missed missed{content->id, missing};
  auto resume = [this, reply, file, offset, size, ahead, missed](const Answer& answer) {
    if (answer.error != Kind::kNone) return reply->Error(answer.error);
    front_->Post(
        [this, reply, file, offset, size, ahead, missed] { ReadFile(reply, file, offset, size, ahead, missed); });
  };
  auto abandon = [this, content, waiter](bool was_interrupted) {
    if (const uint64_t ask = content->LeaveFetch(waiter); ask != 0) requests_.DropAsk(ask, was_interrupted);
  };
  if (!requests_.Wait(waiter, {reply, requests_.DeadlineOf(Op::kFetch), resume, abandon}))
    return reply->Error(Kind::kIo);
  const uint64_t ask = requests_.NewId();
  bool is_present = false;
  const bool has_joined = content->JoinFetch(missing, plan.missing_end, waiter, ask, &is_present);
  if (is_present) {
    requests_.Resume(waiter, {});
    return;
  }
  if (!has_joined) {
    CountPassed(Op::kFetch);
    const uint64_t rest = content->size_bytes - std::min(plan.missing_end, content->size_bytes);
    Message message = {.id = ask,
                       .op = Op::kFetch,
                       .caller = reply->GetCaller(),
                       .content = content->id,
                       .offset = missing,
                       .length = plan.missing_end - missing,
                       .ahead = std::min(ahead, rest)};
    const auto settle = [this, content, ask](const Answer& answer) {
      for (const uint64_t waiting : content->EndFetch(ask)) requests_.Resume(waiting, answer);
    };
    requests_.Ask(std::move(message), settle, true);
  }
  requests_.Release(waiter);
}

void DriveCore::Write(ReplyPtr reply, Handle* handle, uint64_t offset, const char* data, size_t size,
                      bool is_writeback) {
  SetClosing(handle, false);
  size_t written = 0;
  const Kind error = handle->file->Write(data, size, offset, front_->NowWallNs(), is_writeback, &written);
  CountNative(Op::kWrite);
  if (error != Kind::kNone) return reply->Error(error);
  written_bytes_.fetch_add(written, std::memory_order_relaxed);
  reply->Written(written);
}

void DriveCore::Seek(ReplyPtr reply, Handle* handle, uint64_t offset, bool wants_data) {
  CountNative(Op::kSeek);
  uint64_t found = 0;
  const Kind error = handle->file->Seek(offset, wants_data, &found);
  if (error != Kind::kNone) return reply->Error(error);
  reply->Offset(found);
}

void DriveCore::Allocate(ReplyPtr reply, Handle* handle, int mode, uint64_t offset, uint64_t length) {
  SetClosing(handle, false);
  reply->Error(handle->file->Allocate(mode, offset, length, front_->NowWallNs()));
}

}  // namespace runnel::drive
