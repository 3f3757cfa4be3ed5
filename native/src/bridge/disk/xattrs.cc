// Jobs on extended attributes.
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/root.h"

namespace runnel {

namespace {

struct Xattrs {
  int root;
  std::string path;
  std::string other = {};
  Bytes value = {};
  std::vector<Xattr> found = {};
};

// [name, bytes, name, bytes, …]
Napi::Value XattrsResult(Napi::Env env, Xattrs& job) {
  Napi::Array result = Napi::Array::New(env, 2 * job.found.size());
  uint32_t at = 0;
  for (const Xattr& xattr : job.found) {
    result.Set(at++, Napi::String::New(env, xattr.name));
    result.Set(at++, CopyOf(env, xattr.value.data(), xattr.value.size()));
  }
  return result;
}

Napi::Value XattrsAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Xattrs{IntArgument(info, 0), PathArgument(info, 1)}, {},
      [](Xattrs& job) -> Failure { return XattrsOf(job.root, job.path, &job.found); }, XattrsResult);
}

Napi::Value SetXattrAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick,
      Xattrs{IntArgument(info, 0), PathArgument(info, 1), TextArgument(info, 2), BytesOf(info[3])},
      {info[3].As<Napi::Object>()},
      [](Xattrs& job) -> Failure { return SetXattr(job.root, job.path, job.other, job.value.data, job.value.length); },
      Undefined<Xattrs>);
}

Napi::Value RemoveXattrAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Xattrs{IntArgument(info, 0), PathArgument(info, 1), TextArgument(info, 2)}, {},
      [](Xattrs& job) -> Failure { return RemoveXattr(job.root, job.path, job.other); }, Undefined<Xattrs>);
}

Napi::Value CopyXattrsTo(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Xattrs{IntArgument(info, 0), PathArgument(info, 1), PathArgument(info, 2)}, {},
      [](Xattrs& job) -> Failure { return CopyXattrs(job.root, job.path, job.other); }, Undefined<Xattrs>);
}

}  // namespace

void ExportXattrs(Napi::Env env, Napi::Object exports) {
  exports.Set("xattrs", Napi::Function::New<XattrsAt>(env));
  exports.Set("setXattr", Napi::Function::New<SetXattrAt>(env));
  exports.Set("removeXattr", Napi::Function::New<RemoveXattrAt>(env));
  exports.Set("copyXattrs", Napi::Function::New<CopyXattrsTo>(env));
}

}  // namespace runnel
