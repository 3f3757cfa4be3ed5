// Jobs that make, rename and remove names.
#include <string>
#include <utility>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/file/root.h"

namespace runnel {

namespace {

template <typename Run>
Napi::Value Start(const Napi::CallbackInfo& info, Run run) {
  return StartJob(info.Env(), Lane::kQuick, {}, std::move(run));
}

Napi::Value MakeFolderAt(const Napi::CallbackInfo& info) {
  return Start(info, [at = PathArguments(info), permissions = ModeArgument(info, 2)] {
    return MakeFolder(at.root, at.path, permissions);
  });
}

Napi::Value MakeSymlinkAt(const Napi::CallbackInfo& info) {
  return Start(info, [at = PathArguments(info), target = PathArgument(info, 2)] {
    return MakeSymlink(at.root, at.path, target);
  });
}

Napi::Value MakeSpecialAt(const Napi::CallbackInfo& info) {
  return Start(info, [at = PathArguments(info), type = static_cast<FileType>(IntArgument(info, 2)),
                      permissions = ModeArgument(info, 3),
                      rdev = SizeArgument(info, 4)] { return MakeSpecial(at.root, at.path, type, permissions, rdev); });
}

Napi::Value LinkAt(const Napi::CallbackInfo& info) {
  return Start(info,
               [from = PathArguments(info), to = PathArgument(info, 2)] { return Link(from.root, from.path, to); });
}

Napi::Value RenameAt(const Napi::CallbackInfo& info) {
  return Start(
      info, [from = PathArguments(info), to = PathArgument(info, 2),
             mode = static_cast<RenameMode>(IntArgument(info, 3))] { return Rename(from.root, from.path, to, mode); });
}

Napi::Value RemoveFileAt(const Napi::CallbackInfo& info) {
  return Start(info, [at = PathArguments(info)] { return RemoveFile(at.root, at.path); });
}

Napi::Value RemoveFolderAt(const Napi::CallbackInfo& info) {
  return Start(info, [at = PathArguments(info)] { return RemoveFolder(at.root, at.path); });
}

}  // namespace

void ExportNames(Napi::Env env, Napi::Object exports) {
  exports.Set("makeFolder", Napi::Function::New<MakeFolderAt>(env));
  exports.Set("makeSymlink", Napi::Function::New<MakeSymlinkAt>(env));
  exports.Set("makeSpecial", Napi::Function::New<MakeSpecialAt>(env));
  exports.Set("link", Napi::Function::New<LinkAt>(env));
  exports.Set("rename", Napi::Function::New<RenameAt>(env));
  exports.Set("removeFile", Napi::Function::New<RemoveFileAt>(env));
  exports.Set("removeFolder", Napi::Function::New<RemoveFolderAt>(env));
}

}  // namespace runnel
