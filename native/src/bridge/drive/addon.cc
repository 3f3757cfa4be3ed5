// drive.node: exports the class NativeDrive.
#include <napi.h>

#include "object.h"

namespace {

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeDrive", runnel::bridge::DriveObject::Define(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(drive, Init)
