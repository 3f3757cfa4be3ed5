// Entry point of core.node.
#include <napi.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "src/bridge/core_exports.h"
#include "src/bridge/core_state.h"

namespace runnel {

// How the process gives memory back. By default glibc keeps an arena for each thread, and once a block of some size was
// freed it keeps blocks of that size too: what runs and the recipe of a large file took would stay with us.
void KeepMemorySmall() {
#ifdef __GLIBC__
  constexpr int kArenas = 2;
  constexpr int kMappedBytes = 512 * 1024;
  constexpr int kKeptBytes = 16 * 1024 * 1024;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
#endif
}

Napi::Object InitializeCore(Napi::Env env, Napi::Object exports) {
  KeepMemorySmall();
  CoreState::Attach(env);
  ExportFile(env, exports);
  ExportRoot(env, exports);
  ExportNames(env, exports);
  ExportXattrs(env, exports);
  ExportList(env, exports);
  ExportWatch(env, exports);
  ExportCompute(env, exports);
  ExportDigest(env, exports);
  ExportRechunk(env, exports);
  ExportStreams(env, exports);
  return exports;
}

NODE_API_MODULE(core, InitializeCore)

}  // namespace runnel
