// Sealing and opening of secrets, on the caller's thread: they have some hundred bytes, and it happens once a start.
#include "src/secret/seal.h"

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/failure.h"
#include "src/bridge/core/results.h"

namespace runnel {

namespace {

template <int (*Change)(const uint8_t*, size_t, std::vector<uint8_t>*)>
Napi::Value Changed(const Napi::CallbackInfo& info) {
  const Bytes bytes = BytesOf(info[0]);
  std::vector<uint8_t> changed;
  const int error_number = Change(bytes.data, bytes.length, &changed);
  if (error_number != 0) throw MakeError(info.Env(), error_number);
  return BytesResult(info.Env(), changed);
}

}  // namespace

void ExportSecret(Napi::Env env, Napi::Object exports) {
  exports.Set("sealSecret", Napi::Function::New<Changed<SealSecret>>(env));
  exports.Set("openSecret", Napi::Function::New<Changed<OpenSecret>>(env));
}

}  // namespace runnel
