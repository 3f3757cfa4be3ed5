#include "fuse_ops.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "file_details.h"
#include "fuse_front.h"
#include "fuse_reply.h"
#include "src/file/name_text.h"

namespace runnel::drive {
namespace {

constexpr unsigned kMaxWriteBytes = 1 << 20;
constexpr unsigned kMaxBackground = 64;
constexpr unsigned kCongestion = 48;

FuseFront& FrontOf(fuse_req_t request) { return *static_cast<FuseFront*>(fuse_req_userdata(request)); }
DriveCore& CoreOf(fuse_req_t request) { return FrontOf(request).core(); }
ReplyPtr ReplyTo(fuse_req_t request) { return std::make_shared<FuseReply>(request); }
Handle* HandleOf(const fuse_file_info* info) { return info == nullptr ? nullptr : reinterpret_cast<Handle*>(info->fh); }
FolderHandle* FolderOf(const fuse_file_info* info) { return reinterpret_cast<FolderHandle*>(info->fh); }
std::string XattrOf(const char* name) { return std::string(kXattrPrefix) + name; }
int64_t NsOf(const timespec& time) { return time.tv_sec * int64_t{1000000000} + time.tv_nsec; }

// The flags that are off, and why. Writeback cache: the kernel then ignores sizes and times from elsewhere and rounds
// dirty ranges to pages. Automatic invalidation of data: a new version invalidates its pages itself
// (EXPLICIT_INVAL_DATA). Splice: slower than pread and a reply from a buffer. POSIX and flock locks: the kernel's own
// are right and interruptible as long as no lock crosses clients.
void Init(void* front, fuse_conn_info* connection) {
  constexpr unsigned kOff = FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
                            FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS |
                            FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ASYNC_DIO;
  constexpr unsigned kOn = FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS |
                           FUSE_CAP_ASYNC_READ | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;
  connection->want = (connection->want & ~kOff) | (connection->capable & kOn);
  connection->max_write = kMaxWriteBytes;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kCongestion;
  static_cast<FuseFront*>(front)->OnInit();
}

void Lookup(fuse_req_t request, fuse_ino_t folder, const char* name) {
  CoreOf(request).Lookup(ReplyTo(request), folder, TextOfName(name));
}

void Forget(fuse_req_t request, fuse_ino_t id, uint64_t lookups) {
  CoreOf(request).Forget(id, lookups);
  fuse_reply_none(request);
}

void ForgetMulti(fuse_req_t request, size_t count, fuse_forget_data* forgets) {
  for (size_t i = 0; i < count; ++i) CoreOf(request).Forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

void GetAttr(fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
  CoreOf(request).GetAttributes(ReplyTo(request), id);
}

void SetAttr(fuse_req_t request, fuse_ino_t id, struct stat* stat, int to_set, fuse_file_info* info) {
  SetAttributes set;
  if (to_set & FUSE_SET_ATTR_MODE) set.set |= Message::kMode;
  if (to_set & FUSE_SET_ATTR_UID) set.set |= Message::kUid;
  if (to_set & FUSE_SET_ATTR_GID) set.set |= Message::kGid;
  if (to_set & FUSE_SET_ATTR_SIZE) set.set |= Message::kSize;
  if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) set.set |= Message::kMtime;
  set.sets_atime = (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) != 0;
  set.mode = stat->st_mode;
  set.uid = stat->st_uid;
  set.gid = stat->st_gid;
  set.size_bytes = static_cast<uint64_t>(stat->st_size);
  const int64_t now_ns = FrontOf(request).NowWallNs();
  set.atime_ns = to_set & FUSE_SET_ATTR_ATIME_NOW ? now_ns : NsOf(AccessTimeOf(*stat));
  set.mtime_ns = to_set & FUSE_SET_ATTR_MTIME_NOW ? now_ns : NsOf(WriteTimeOf(*stat));
  CoreOf(request).SetAttributesOf(ReplyTo(request), id, HandleOf(info), set);
}

void ReadLink(fuse_req_t request, fuse_ino_t id) { CoreOf(request).ReadLink(ReplyTo(request), id); }

void MkNod(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, dev_t rdev) {
  CoreOf(request).Make(ReplyTo(request), folder, TextOfName(name), TypeOf(mode), mode, static_cast<uint32_t>(rdev), {});
}

void MkDir(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode) {
  CoreOf(request).Make(ReplyTo(request), folder, TextOfName(name), FileType::kFolder, mode, 0, {});
}

void SymLink(fuse_req_t request, const char* target, fuse_ino_t folder, const char* name) {
  CoreOf(request).Make(ReplyTo(request), folder, TextOfName(name), FileType::kSymlink, 0777, 0, TextOfName(target));
}

void Link(fuse_req_t request, fuse_ino_t id, fuse_ino_t folder, const char* name) {
  CoreOf(request).Link(ReplyTo(request), id, folder, TextOfName(name));
}

void Unlink(fuse_req_t request, fuse_ino_t folder, const char* name) {
  CoreOf(request).Remove(ReplyTo(request), folder, TextOfName(name), false);
}

void RmDir(fuse_req_t request, fuse_ino_t folder, const char* name) {
  CoreOf(request).Remove(ReplyTo(request), folder, TextOfName(name), true);
}

void Rename(fuse_req_t request, fuse_ino_t folder, const char* name, fuse_ino_t to_folder, const char* to_name,
            unsigned flags) {
  RenameHow how = RenameHow::kReplace;
  if (flags == kRenameKeeps) {
    how = RenameHow::kKeep;
  } else if (flags == kRenameExchanges) {
    how = RenameHow::kExchange;
  } else if (flags != 0) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  CoreOf(request).Rename(ReplyTo(request), folder, TextOfName(name), to_folder, TextOfName(to_name), how);
}

void Create(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, fuse_file_info* info) {
  CoreOf(request).Create(ReplyTo(request), folder, TextOfName(name), mode, info->flags);
}

void Open(fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
  CoreOf(request).Open(ReplyTo(request), id, info->flags);
}

void Read(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  CoreOf(request).Read(ReplyTo(request), HandleOf(info), static_cast<uint64_t>(offset), size);
}

void Write(fuse_req_t request, fuse_ino_t, const char* data, size_t size, off_t offset, fuse_file_info* info) {
  CoreOf(request).Write(ReplyTo(request), HandleOf(info), static_cast<uint64_t>(offset), data, size,
                        info->writepage != 0);
}

void Flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  CoreOf(request).Flush(ReplyTo(request), HandleOf(info));
}

void Fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  CoreOf(request).Fsync(ReplyTo(request), HandleOf(info));
}

void Fallocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* info) {
  CoreOf(request).Allocate(ReplyTo(request), HandleOf(info), mode, static_cast<uint64_t>(offset),
                           static_cast<uint64_t>(length));
}

void Release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  CoreOf(request).Release(HandleOf(info));
  fuse_reply_err(request, 0);
}

void OpenDir(fuse_req_t request, fuse_ino_t id, fuse_file_info*) { CoreOf(request).OpenFolder(ReplyTo(request), id); }

void ReadDir(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  CoreOf(request).ReadFolder(ReplyTo(request), FolderOf(info), static_cast<uint64_t>(offset), size, false);
}

void ReadDirPlus(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  CoreOf(request).ReadFolder(ReplyTo(request), FolderOf(info), static_cast<uint64_t>(offset), size, true);
}

void ReleaseDir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  CoreOf(request).ReleaseFolder(FolderOf(info));
  fuse_reply_err(request, 0);
}

void FsyncDir(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) { CoreOf(request).Sync(ReplyTo(request)); }

void Seek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* info) {
  CoreOf(request).Seek(ReplyTo(request), HandleOf(info), static_cast<uint64_t>(offset), whence == SEEK_DATA);
}

void GetXattr(fuse_req_t request, fuse_ino_t id, const char* name, size_t room) {
  CoreOf(request).GetXattr(ReplyTo(request), id, XattrOf(name), room);
}

void ListXattr(fuse_req_t request, fuse_ino_t id, size_t room) {
  CoreOf(request).ListXattrs(std::make_shared<FuseXattrsReply>(request), id, room);
}

void SetXattr(fuse_req_t request, fuse_ino_t id, const char* name, const char* value, size_t size, int flags) {
  CoreOf(request).SetXattr(ReplyTo(request), id, XattrOf(name), {value, size}, flags);
}

void RemoveXattr(fuse_req_t request, fuse_ino_t id, const char* name) {
  CoreOf(request).RemoveXattr(ReplyTo(request), id, XattrOf(name));
}

void StatFs(fuse_req_t request, fuse_ino_t) { CoreOf(request).StatFilesystem(ReplyTo(request)); }

}  // namespace

fuse_lowlevel_ops FuseOps() {
  fuse_lowlevel_ops ops = {};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.forget = Forget;
  ops.forget_multi = ForgetMulti;
  ops.getattr = GetAttr;
  ops.setattr = SetAttr;
  ops.readlink = ReadLink;
  ops.mknod = MkNod;
  ops.mkdir = MkDir;
  ops.symlink = SymLink;
  ops.link = Link;
  ops.unlink = Unlink;
  ops.rmdir = RmDir;
  ops.rename = Rename;
  ops.create = Create;
  ops.open = Open;
  ops.read = Read;
  ops.write = Write;
  ops.flush = Flush;
  ops.fsync = Fsync;
  ops.release = Release;
  ops.opendir = OpenDir;
  ops.readdir = ReadDir;
  ops.readdirplus = ReadDirPlus;
  ops.releasedir = ReleaseDir;
  ops.fsyncdir = FsyncDir;
  ops.statfs = StatFs;
  ops.lseek = Seek;
  ops.getxattr = GetXattr;
  ops.listxattr = ListXattr;
  ops.setxattr = SetXattr;
  ops.removexattr = RemoveXattr;
  ops.fallocate = Fallocate;
  return ops;
}

}  // namespace runnel::drive
