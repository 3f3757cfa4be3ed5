// Each of these adds one family of functions to the addon's exports. What they take and give is written in
// core-addon.ts.
#ifndef RUNNEL_BRIDGE_CORE_EXPORTS_H_
#define RUNNEL_BRIDGE_CORE_EXPORTS_H_

#include <napi.h>

namespace runnel {

void ExportFile(Napi::Env env, Napi::Object exports);
void ExportRoot(Napi::Env env, Napi::Object exports);
void ExportNames(Napi::Env env, Napi::Object exports);
void ExportXattrs(Napi::Env env, Napi::Object exports);
void ExportList(Napi::Env env, Napi::Object exports);
void ExportWatch(Napi::Env env, Napi::Object exports);
void ExportCompute(Napi::Env env, Napi::Object exports);
void ExportDigest(Napi::Env env, Napi::Object exports);
void ExportRechunk(Napi::Env env, Napi::Object exports);
void ExportStreams(Napi::Env env, Napi::Object exports);
void ExportSecret(Napi::Env env, Napi::Object exports);

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_EXPORTS_H_
