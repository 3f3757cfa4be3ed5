// Checks of SQLite's pages: a layer under SQLite (a VFS) that ends every page of a database file with a digest of its
// bytes and place, and fails the read of a page that is not as it was written. An extension that SQLite loads from
// core.node; from then on it is under every database that this process opens. Files beside the database pass through:
// the write-ahead log has sums of its own, which SQLite checks when it finds a log that it did not write itself.
//
// One SQLite library in a process: what one allocates, and where it keeps its fields, is not for another (Node.js has
// one inside as well).
//
// Threads: SQLite calls a file's methods on one thread at a time; nothing here is shared but the layer itself. It is
// set up once: SQLite's library is kept from being unloaded with the last thread that uses it, or what it calls here
// and what is called there would outlive each other. See https://sqlite.org/vfs.html, and "reserved space" in
// https://sqlite.org/fileformat2.html.
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#include <sqlite3ext.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include <common/xxhash.h>

SQLITE_EXTENSION_INIT1

namespace runnel {
namespace {

// Reserved at the end of each page.
constexpr int kDigestBytes = 8;
// The place in the header that says how large pages are.
constexpr sqlite3_int64 kPageSizeAt = 16;
constexpr int kPageBytesMin = 512;
constexpr int kPageBytesMax = 65536;

constexpr const char* kName = "runnel-pages";
sqlite3_vfs* below = nullptr;

// SQLite allocates it, with the file below behind it.
struct CheckedFile {
  sqlite3_file base;
  sqlite3_file* Below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

CheckedFile* Of(sqlite3_file* file) { return reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* BelowOf(sqlite3_file* file) { return Of(file)->Below(); }
const sqlite3_io_methods* MethodsBelow(sqlite3_file* file) { return BelowOf(file)->pMethods; }

// SQLite reads and writes a database in whole pages, but for looks at its header.
bool IsPage(int bytes, sqlite3_int64 offset) {
  return bytes >= kPageBytesMin && bytes <= kPageBytesMax && std::has_single_bit(static_cast<unsigned>(bytes)) &&
         offset % bytes == 0;
}

uint64_t DigestOf(const void* page, int bytes, sqlite3_int64 offset) {
  return XXH64(page, static_cast<size_t>(bytes - kDigestBytes), static_cast<uint64_t>(offset));
}

int Read(sqlite3_file* file, void* buffer, int bytes, sqlite3_int64 offset) {
  const int result = MethodsBelow(file)->xRead(BelowOf(file), buffer, bytes, offset);
  if (!IsPage(bytes, offset)) return result;
  if (result == SQLITE_IOERR_SHORT_READ) {
    // Past the end there are zeros; a page of which a part is there has been cut.
    sqlite3_int64 size = 0;
    const int failure = MethodsBelow(file)->xFileSize(BelowOf(file), &size);
    if (failure != SQLITE_OK) return failure;
    return size > offset ? SQLITE_IOERR_DATA : result;
  }
  if (result != SQLITE_OK) return result;
  uint64_t written = 0;
  std::memcpy(&written, static_cast<const char*>(buffer) + bytes - kDigestBytes, kDigestBytes);
  return written == DigestOf(buffer, bytes, offset) ? SQLITE_OK : SQLITE_IOERR_DATA;
}

int Write(sqlite3_file* file, const void* buffer, int bytes, sqlite3_int64 offset) {
  if (!IsPage(bytes, offset)) return MethodsBelow(file)->xWrite(BelowOf(file), buffer, bytes, offset);
  thread_local char page[kPageBytesMax];
  const uint64_t digest = DigestOf(buffer, bytes, offset);
  std::memcpy(page, buffer, static_cast<size_t>(bytes - kDigestBytes));
  std::memcpy(page + bytes - kDigestBytes, &digest, kDigestBytes);
  return MethodsBelow(file)->xWrite(BelowOf(file), page, bytes, offset);
}

int Close(sqlite3_file* file) { return MethodsBelow(file)->xClose(BelowOf(file)); }
int Truncate(sqlite3_file* file, sqlite3_int64 size) { return MethodsBelow(file)->xTruncate(BelowOf(file), size); }
int Sync(sqlite3_file* file, int flags) { return MethodsBelow(file)->xSync(BelowOf(file), flags); }
int FileSize(sqlite3_file* file, sqlite3_int64* size) { return MethodsBelow(file)->xFileSize(BelowOf(file), size); }
int Lock(sqlite3_file* file, int level) { return MethodsBelow(file)->xLock(BelowOf(file), level); }
int Unlock(sqlite3_file* file, int level) { return MethodsBelow(file)->xUnlock(BelowOf(file), level); }
int CheckReservedLock(sqlite3_file* file, int* is) { return MethodsBelow(file)->xCheckReservedLock(BelowOf(file), is); }
int FileControl(sqlite3_file* file, int what, void* argument) {
  return MethodsBelow(file)->xFileControl(BelowOf(file), what, argument);
}
int SectorSize(sqlite3_file* file) { return MethodsBelow(file)->xSectorSize(BelowOf(file)); }

int DeviceCharacteristics(sqlite3_file* file) {
  const int all = MethodsBelow(file)->xDeviceCharacteristics(BelowOf(file));
#ifdef SQLITE_IOCAP_SUBPAGE_READ
  // Parts of pages cannot be checked.
  return all & ~SQLITE_IOCAP_SUBPAGE_READ;
#else
  return all;
#endif
}

int ShmMap(sqlite3_file* file, int region, int bytes, int extends, void volatile** mapped) {
  return MethodsBelow(file)->xShmMap(BelowOf(file), region, bytes, extends, mapped);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return MethodsBelow(file)->xShmLock(BelowOf(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { MethodsBelow(file)->xShmBarrier(BelowOf(file)); }
int ShmUnmap(sqlite3_file* file, int removes) { return MethodsBelow(file)->xShmUnmap(BelowOf(file), removes); }

// Version 2: without the methods that map a file into memory, past these checks.
const sqlite3_io_methods kMethods = {.iVersion = 2,
                                     .xClose = Close,
                                     .xRead = Read,
                                     .xWrite = Write,
                                     .xTruncate = Truncate,
                                     .xSync = Sync,
                                     .xFileSize = FileSize,
                                     .xLock = Lock,
                                     .xUnlock = Unlock,
                                     .xCheckReservedLock = CheckReservedLock,
                                     .xFileControl = FileControl,
                                     .xSectorSize = SectorSize,
                                     .xDeviceCharacteristics = DeviceCharacteristics,
                                     .xShmMap = ShmMap,
                                     .xShmLock = ShmLock,
                                     .xShmBarrier = ShmBarrier,
                                     .xShmUnmap = ShmUnmap,
                                     .xFetch = nullptr,
                                     .xUnfetch = nullptr};

int Open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return below->xOpen(below, name, file, flags, out_flags);
  file->pMethods = nullptr;
  BelowOf(file)->pMethods = nullptr;
  const int result = below->xOpen(below, name, BelowOf(file), flags, out_flags);
  if (BelowOf(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return result;
}

// SQL function runnel_wrong_page(): reads the whole file of the main database; the number of its first page that is not
// as it was written, 0 when there is none. What the write-ahead log has instead is not looked at.
void FindWrongPage(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(sqlite3_context_db_handle(context), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods != &kMethods) return sqlite3_result_int64(context, 0);
  sqlite3_int64 size = 0;
  unsigned char page_size[2] = {0, 0};
  if (FileSize(file, &size) != SQLITE_OK) return sqlite3_result_error_code(context, SQLITE_IOERR);
  if (size == 0) return sqlite3_result_int64(context, 0);
  if (Read(file, page_size, sizeof page_size, kPageSizeAt) != SQLITE_OK) return sqlite3_result_int64(context, 1);
  // 1 stands for 65536.
  const int bytes = page_size[0] == 0 && page_size[1] == 1 ? kPageBytesMax : page_size[0] << 8 | page_size[1];
  if (!IsPage(bytes, 0)) return sqlite3_result_int64(context, 1);
  std::vector<char> page(static_cast<size_t>(bytes));
  for (sqlite3_int64 offset = 0; offset < size; offset += bytes) {
    const int result = Read(file, page.data(), bytes, offset);
    if (result == SQLITE_IOERR_DATA) return sqlite3_result_int64(context, offset / bytes + 1);
    if (result != SQLITE_OK) return sqlite3_result_error_code(context, result);
  }
  sqlite3_result_int64(context, 0);
}

// Prepares each new database connection: files that it makes have room for the digests.
int Prepare(sqlite3* database, char**, const sqlite3_api_routines*) {
  int bytes = kDigestBytes;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  return sqlite3_create_function(database, "runnel_wrong_page", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr,
                                 FindWrongPage, nullptr, nullptr);
}

// The library that holds `address` stays as long as the process.
bool KeepLoaded(void* address) {
#ifdef _WIN32
  HMODULE module = nullptr;
  return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                            static_cast<const char*>(address), &module) != 0;
#else
  Dl_info library = {};
  return dladdr(address, &library) != 0 && dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
#endif
}

int SetUp() {
  static sqlite3_vfs checked;
  below = sqlite3_vfs_find(nullptr);
  if (below == nullptr || !KeepLoaded(reinterpret_cast<void*>(sqlite3_api->vfs_find))) return SQLITE_ERROR;
  // Calls that do not concern open files are done by the methods below; they find their own data in the copy.
  checked = *below;
  checked.pNext = nullptr;
  checked.zName = kName;
  checked.szOsFile = static_cast<int>(sizeof(CheckedFile)) + below->szOsFile;
  checked.xOpen = Open;
  const int result = sqlite3_vfs_register(&checked, 1);
  if (result != SQLITE_OK) return result;
  return sqlite3_auto_extension(reinterpret_cast<void (*)()>(Prepare));
}

}  // namespace
}  // namespace runnel

extern "C" {
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
    int sqlite3_extension_init(sqlite3*, char** error, const sqlite3_api_routines* api) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (sqlite3_api != nullptr && sqlite3_api->vfs_find != api->vfs_find) {
    *error = api->mprintf("Pages are checked for one SQLite library in a process, and another one has them already.");
    return SQLITE_ERROR;
  }
  SQLITE_EXTENSION_INIT2(api);
  if (sqlite3_vfs_find(runnel::kName) != nullptr) return SQLITE_OK_LOAD_PERMANENTLY;
  const int result = runnel::SetUp();
  return result == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : result;
}
}
