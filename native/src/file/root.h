// Operations on paths beneath a root: an open folder. A path is relative, "/"-separated, without ".", ".." or empty
// parts (the TypeScript face has checked it); "" is the root itself. No operation follows a symlink or leaves the
// root's file system: folders on the way are opened with openat2(2) and a last part is only ever named relative to one.
//
// All block, are safe to call from any thread, and return 0 or an errno number: ENOTDIR or ELOOP for a file or a
// symlink on the way, EXDEV for another file system. `root` is borrowed: the caller keeps it open until the call
// returns.
#ifndef RUNNEL_FILE_ROOT_H_
#define RUNNEL_FILE_ROOT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "descriptor.h"
#include "stat.h"

namespace runnel {

enum class OpenMode : int { kRead = 0, kWrite = 1, kCreate = 2, kCreateNew = 3 };
enum class RenameMode : int { kReplace = 0, kKeep = 1, kExchange = 2 };

// Opens an existing folder at an absolute path, which may lead through symlinks.
int OpenRoot(const std::string& path, Descriptor* root);

// Makes the folder at an absolute path and those missing above it; one that exists is left as it is.
int MakeRoot(const std::string& path, uint32_t permissions);

// Opens anything for reference only (O_PATH), a final symlink itself.
int OpenReference(int root, const std::string& path, Descriptor* reference);

// Opens a folder to list or to sync it.
int OpenFolder(int root, const std::string& path, Descriptor* folder);

// Opens a regular file; never waits on a fifo or a device. EISDIR for a folder, ELOOP for a symlink, EOPNOTSUPP for
// others. `permissions` are those of a file that is made, whatever the process's umask.
int OpenFile(int root, const std::string& path, OpenMode mode, uint32_t permissions, Descriptor* file);

// A file that is written as a whole.
struct WholeFile {
  std::string path;
  OpenMode mode = OpenMode::kCreate;
  uint32_t permissions = 0;
  const uint8_t* bytes = nullptr;
  size_t length = 0;
  // Set as far as the file system and its rules let.
  StatChange stat;
  bool is_synced = false;
};

// Opens the file, cuts it, writes, sets what is to be set, and syncs. What a failure leaves is not removed.
int WriteFileAt(int root, const WholeFile& whole, Descriptor* file);

// Reads a file from its beginning, at most so much of it.
int ReadFileAt(int root, const std::string& path, uint64_t length_max, std::vector<uint8_t>* bytes);

int StatPath(int root, const std::string& path, Stat* stat);
int HandleOfPath(int root, const std::string& path, std::vector<uint8_t>* handle);
// Both are of one file, whatever takes its name meanwhile.
int IdentifyPath(int root, const std::string& path, Stat* stat, std::vector<uint8_t>* handle);
// With a handle, ENOENT unless what is there is its file; on Linux and Windows it cannot be another one by then.
int ChangeStatOfPath(int root, const std::string& path, const StatChange& change, const std::vector<uint8_t>& handle);
int MakeFolder(int root, const std::string& path, uint32_t permissions);
int MakeSymlink(int root, const std::string& path, const std::string& target);
int MakeSpecial(int root, const std::string& path, FileType type, uint32_t permissions, uint64_t rdev);
int Link(int root, const std::string& from, const std::string& to);
int ReadSymlink(int root, const std::string& path, std::string* target);
int Rename(int root, const std::string& from, const std::string& to, RenameMode mode);
int RemoveFile(int root, const std::string& path);
int RemoveFolder(int root, const std::string& path);
int SyncFolder(int root, const std::string& path);

struct Xattr {
  std::string name;
  std::vector<uint8_t> value;
};

// Extended attributes of users (user.*); what is neither file nor folder has none.
int XattrsOf(int root, const std::string& path, std::vector<Xattr>* xattrs);
// EFBIG: more than the file system holds.
int SetXattr(int root, const std::string& path, const std::string& name, const uint8_t* value, size_t length);
int RemoveXattr(int root, const std::string& path, const std::string& name);
// Copies attributes of all namespaces, as far as they may be read and set: access control lists too.
int CopyXattrs(int root, const std::string& from, const std::string& to);
int SpaceOf(int root, Space* space);

struct Entry {
  std::string name;
  Stat stat;
};

// The next entries of a folder from OpenFolder, some thousand at a time, none at its end. One that vanishes meanwhile
// is left out; the place is kept in the descriptor.
int ListNext(int folder, std::vector<Entry>* entries);

}  // namespace runnel

#endif  // RUNNEL_FILE_ROOT_H_
