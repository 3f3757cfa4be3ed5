// Entry point of core.node.
#include <napi.h>

#include "exports.h"
#include "src/pool/kept_memory.h"
#include "state.h"

namespace runnel {

Napi::Object InitializeCore(Napi::Env env, Napi::Object exports) {
  KeepLittleMemory();
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
  ExportSecret(env, exports);
  return exports;
}

NODE_API_MODULE(core, InitializeCore)

}  // namespace runnel
