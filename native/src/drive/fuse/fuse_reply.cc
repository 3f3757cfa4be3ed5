#include "fuse_reply.h"

#include <sys/statvfs.h>

#include "file_details.h"
#include "fuse_front.h"
#include "src/drive/content/open_files.h"
#include "src/file/name_text.h"
#include "to_errno.h"

namespace runnel::drive {
namespace {

constexpr double kSecond = 1000.0;  // ms

void SetTime(timespec* to, int64_t ns) {
  constexpr int64_t kNs = 1000000000;
  to->tv_sec = ns / kNs;
  to->tv_nsec = ns % kNs;
  if (to->tv_nsec < 0) {
    to->tv_nsec += kNs;
    --to->tv_sec;
  }
}

struct stat StatOf(const Attributes& attributes) {
  struct stat stat = {};
  stat.st_ino = attributes.ino;
  stat.st_mode = attributes.mode;
  stat.st_nlink = attributes.nlink;
  stat.st_uid = attributes.uid;
  stat.st_gid = attributes.gid;
  stat.st_rdev = attributes.rdev;
  stat.st_size = static_cast<off_t>(attributes.size_bytes);
  stat.st_blocks = static_cast<blkcnt_t>((attributes.allocated_bytes + 511) / 512);
  SetTime(&AccessTimeOf(stat), attributes.atime_ns);
  SetTime(&WriteTimeOf(stat), attributes.mtime_ns);
  SetTime(&ChangeTimeOf(stat), attributes.ctime_ns);
  return stat;
}

fuse_entry_param EntryOf(const EntryAnswer& answer) {
  fuse_entry_param entry = {};
  entry.ino = answer.id;
  entry.attr = StatOf(answer.attributes);
  entry.entry_timeout = answer.entry_timeout_ms / kSecond;
  entry.attr_timeout = answer.attribute_timeout_ms / kSecond;
  return entry;
}

}  // namespace

Caller FuseReply::GetCaller() const {
  const fuse_ctx* context = fuse_req_ctx(request_);
  return {context->uid, context->gid, context->pid};
}

void FuseReply::WatchCaller(uint64_t waiter) {
  static_cast<FuseFront*>(fuse_req_userdata(request_))->closers().Watch(fuse_req_ctx(request_)->pid, waiter);
}

void FuseReply::OnWaiting(uint64_t waiter) {
  // libfuse calls back with a lock of the request held, and would touch the request after an answer: the interrupt is
  // handled elsewhere.
  fuse_req_interrupt_func(
      request_,
      [](fuse_req_t request, void* data) {
        auto* front = static_cast<FuseFront*>(fuse_req_userdata(request));
        front->signalled().Watch(fuse_req_ctx(request)->pid, reinterpret_cast<uint64_t>(data));
      },
      reinterpret_cast<void*>(waiter));
}

void FuseReply::Error(Kind error) { fuse_reply_err(request_, ToErrno(error)); }

bool FuseReply::Entry(const EntryAnswer& answer) {
  const fuse_entry_param entry = EntryOf(answer);
  return fuse_reply_entry(request_, &entry) == 0;
}

bool FuseReply::Created(const EntryAnswer& answer, Handle* handle) {
  const fuse_entry_param entry = EntryOf(answer);
  fuse_file_info info = {};
  info.fh = reinterpret_cast<uint64_t>(handle);
  return fuse_reply_create(request_, &entry, &info) == 0;
}

bool FuseReply::Opened(Handle* handle, bool keeps_cache) {
  fuse_file_info info = {};
  info.fh = reinterpret_cast<uint64_t>(handle);
  info.keep_cache = keeps_cache;
  info.noflush = !handle->can_write;  // nothing to commit: its close costs no request
  return fuse_reply_open(request_, &info) == 0;
}

bool FuseReply::FolderOpened(FolderHandle* handle) {
  fuse_file_info info = {};
  info.fh = reinterpret_cast<uint64_t>(handle);
  return fuse_reply_open(request_, &info) == 0;
}

void FuseReply::Attributes(const struct Attributes& attributes, uint32_t timeout_ms) {
  const struct stat stat = StatOf(attributes);
  fuse_reply_attr(request_, &stat, timeout_ms / kSecond);
}

void FuseReply::Target(const std::string& target) { fuse_reply_readlink(request_, NameOfText(target).c_str()); }

void FuseReply::Data(const char* data, size_t size) { fuse_reply_buf(request_, data, size); }

// Names, each with a zero at its end.
void FuseXattrsReply::Data(const char* data, size_t size) {
  std::string shown;
  for (std::string_view left(data, size); !left.empty();) {
    const std::string_view name = left.substr(0, left.find('\0') + 1);
    if (name.substr(0, kXattrPrefix.size()) == kXattrPrefix) shown += name.substr(kXattrPrefix.size());
    left.remove_prefix(name.size());
  }
  FuseReply::Data(shown.data(), shown.size());
}

void FuseReply::Written(size_t size) { fuse_reply_write(request_, size); }

void FuseReply::Size(size_t size) { fuse_reply_xattr(request_, size); }

void FuseReply::Offset(uint64_t offset) { fuse_reply_lseek(request_, static_cast<off_t>(offset)); }

void FuseReply::Filesystem(const Space& space) {
  constexpr uint64_t kBlock = 4096;
  struct statvfs stat = {};
  stat.f_bsize = stat.f_frsize = kBlock;
  stat.f_blocks = space.total_bytes / kBlock;
  stat.f_bfree = space.free_bytes / kBlock;
  stat.f_bavail = space.available_bytes / kBlock;
  stat.f_files = space.total_files;
  stat.f_ffree = stat.f_favail = space.free_files;
  stat.f_namemax = kNameBytesMax;
  fuse_reply_statfs(request_, &stat);
}

void FuseReply::BeginNames(size_t size, bool with_attributes) {
  names_.resize(size);
  names_size_ = 0;
  with_attributes_ = with_attributes;
}

bool FuseReply::AddName(const std::string& text, const EntryAnswer& answer, uint64_t next_offset) {
  const std::string name = NameOfText(text);
  const size_t room = names_.size() - names_size_;
  char* const at = names_.data() + names_size_;
  size_t needed = 0;
  if (with_attributes_) {
    const fuse_entry_param entry = EntryOf(answer);
    needed = fuse_add_direntry_plus(request_, at, room, name.c_str(), &entry, static_cast<off_t>(next_offset));
  } else {
    const struct stat stat = StatOf(answer.attributes);
    needed = fuse_add_direntry(request_, at, room, name.c_str(), &stat, static_cast<off_t>(next_offset));
  }
  if (needed > room) return false;
  names_size_ += needed;
  return true;
}

void FuseReply::SendNames() { fuse_reply_buf(request_, names_.data(), names_size_); }

}  // namespace runnel::drive
