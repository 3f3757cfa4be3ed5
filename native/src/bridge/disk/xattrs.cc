// Jobs on extended attributes.
#include <string>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/root.h"

namespace runnel {

namespace {

// [name, bytes, name, bytes, …]
Napi::Value XattrsResult(Napi::Env env, std::vector<Xattr>& found) {
  Napi::Array result = Napi::Array::New(env, 2 * found.size());
  uint32_t at = 0;
  for (const Xattr& xattr : found) {
    result.Set(at++, Napi::String::New(env, xattr.name));
    result.Set(at++, BytesResult(env, xattr.value));
  }
  return result;
}

Napi::Value XattrsAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, std::vector<Xattr>(), {},
      [at = PathArguments(info)](std::vector<Xattr>& found) { return XattrsOf(at.root, at.path, &found); },
      XattrsResult);
}

Napi::Value SetXattrAt(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {info[3].As<Napi::Object>()},
                  [at = PathArguments(info), name = TextArgument(info, 2), value = BytesOf(info[3])] {
                    return SetXattr(at.root, at.path, name, value.data, value.length);
                  });
}

Napi::Value RemoveXattrAt(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {}, [at = PathArguments(info), name = TextArgument(info, 2)] {
    return RemoveXattr(at.root, at.path, name);
  });
}

Napi::Value CopyXattrsTo(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {}, [from = PathArguments(info), to = PathArgument(info, 2)] {
    return CopyXattrs(from.root, from.path, to);
  });
}

}  // namespace

void ExportXattrs(Napi::Env env, Napi::Object exports) {
  exports.Set("xattrs", Napi::Function::New<XattrsAt>(env));
  exports.Set("setXattr", Napi::Function::New<SetXattrAt>(env));
  exports.Set("removeXattr", Napi::Function::New<RemoveXattrAt>(env));
  exports.Set("copyXattrs", Napi::Function::New<CopyXattrsTo>(env));
}

}  // namespace runnel
