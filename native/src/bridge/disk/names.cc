// Jobs that make, rename and remove names.
#include <string>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/file/root.h"

namespace runnel {

namespace {

struct Naming {
  int root;
  std::string path;
  std::string other = {};
  uint32_t permissions = 0;
  int how = 0;
  uint64_t rdev = 0;
};

using Run = Failure (*)(Naming&);

Napi::Value Start(const Napi::CallbackInfo& info, Naming naming, Run run) {
  return StartJob(info.Env(), Lane::kQuick, std::move(naming), {}, run, Undefined<Naming>);
}

Naming OnePath(const Napi::CallbackInfo& info) { return {IntArgument(info, 0), PathArgument(info, 1)}; }

Naming TwoPaths(const Napi::CallbackInfo& info) {
  return {IntArgument(info, 0), PathArgument(info, 1), PathArgument(info, 2)};
}

Napi::Value MakeFolderAt(const Napi::CallbackInfo& info) {
  Naming naming = OnePath(info);
  naming.permissions = static_cast<uint32_t>(SizeArgument(info, 2));
  return Start(info, std::move(naming),
               [](Naming& job) -> Failure { return MakeFolder(job.root, job.path, job.permissions); });
}

Napi::Value MakeSymlinkAt(const Napi::CallbackInfo& info) {
  return Start(info, TwoPaths(info), [](Naming& job) -> Failure { return MakeSymlink(job.root, job.path, job.other); });
}

Napi::Value MakeSpecialAt(const Napi::CallbackInfo& info) {
  Naming naming = OnePath(info);
  naming.how = IntArgument(info, 2);
  naming.permissions = static_cast<uint32_t>(SizeArgument(info, 3));
  naming.rdev = SizeArgument(info, 4);
  return Start(info, std::move(naming), [](Naming& job) -> Failure {
    return MakeSpecial(job.root, job.path, static_cast<FileType>(job.how), job.permissions, job.rdev);
  });
}

Napi::Value LinkAt(const Napi::CallbackInfo& info) {
  return Start(info, TwoPaths(info), [](Naming& job) -> Failure { return Link(job.root, job.path, job.other); });
}

Napi::Value RenameAt(const Napi::CallbackInfo& info) {
  Naming naming = TwoPaths(info);
  naming.how = IntArgument(info, 3);
  return Start(info, std::move(naming), [](Naming& job) -> Failure {
    return Rename(job.root, job.path, job.other, static_cast<RenameMode>(job.how));
  });
}

Napi::Value RemoveFileAt(const Napi::CallbackInfo& info) {
  return Start(info, OnePath(info), [](Naming& job) -> Failure { return RemoveFile(job.root, job.path); });
}

Napi::Value RemoveFolderAt(const Napi::CallbackInfo& info) {
  return Start(info, OnePath(info), [](Naming& job) -> Failure { return RemoveFolder(job.root, job.path); });
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
