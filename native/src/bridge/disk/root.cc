// Jobs on roots and on what a path names, without changing names.
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/name_text.h"
#include "src/file/root.h"

namespace runnel {

namespace {

struct Opening {
  int root;
  std::string path;
  OpenMode mode;
  uint32_t permissions;
  Descriptor opened;
};

// The descriptor is JavaScript's from here on.
Napi::Value GiveDescriptor(Napi::Env env, Opening& job) { return Napi::Number::New(env, job.opened.Release()); }

Napi::Value OpenRootAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Opening{-1, TextArgument(info, 0), OpenMode::kRead, 0, {}}, {},
      [](Opening& job) -> Failure { return OpenRoot(job.path, &job.opened); }, GiveDescriptor);
}

Napi::Value MakeRootAt(const Napi::CallbackInfo& info) {
  const auto permissions = static_cast<uint32_t>(SizeArgument(info, 1));
  return StartJob(
      info.Env(), Lane::kQuick, Opening{-1, TextArgument(info, 0), OpenMode::kRead, permissions, {}}, {},
      [](Opening& job) -> Failure { return MakeRoot(job.path, job.permissions); }, Undefined<Opening>);
}

Napi::Value Open(const Napi::CallbackInfo& info) {
  const auto mode = static_cast<OpenMode>(IntArgument(info, 2));
  const auto permissions = static_cast<uint32_t>(SizeArgument(info, 3));
  return StartJob(
      info.Env(), Lane::kQuick, Opening{IntArgument(info, 0), PathArgument(info, 1), mode, permissions, {}}, {},
      [](Opening& job) -> Failure { return OpenFile(job.root, job.path, job.mode, job.permissions, &job.opened); },
      GiveDescriptor);
}

struct PathStat {
  int root;
  std::string path;
  Stat stat;
  StatChange change;
};

Napi::Value StatOfPath(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, PathStat{IntArgument(info, 0), PathArgument(info, 1), {}, {}}, {},
      [](PathStat& job) -> Failure { return StatPath(job.root, job.path, &job.stat); },
      [](Napi::Env env, PathStat& job) -> Napi::Value { return StatResult(env, job.stat); });
}

Napi::Value ChangeStatAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, PathStat{IntArgument(info, 0), PathArgument(info, 1), {}, StatChangeArguments(info, 2)},
      {}, [](PathStat& job) -> Failure { return ChangeStatOfPath(job.root, job.path, job.change); },
      Undefined<PathStat>);
}

struct PathBytes {
  int root;
  std::string path;
  std::vector<uint8_t> handle;
  std::string target;
};

Napi::Value HandleAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, PathBytes{IntArgument(info, 0), PathArgument(info, 1), {}, {}}, {},
      [](PathBytes& job) -> Failure { return HandleOfPath(job.root, job.path, &job.handle); },
      [](Napi::Env env, PathBytes& job) -> Napi::Value { return CopyOf(env, job.handle.data(), job.handle.size()); });
}

Napi::Value ReadSymlinkAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, PathBytes{IntArgument(info, 0), PathArgument(info, 1), {}, {}}, {},
      [](PathBytes& job) -> Failure { return ReadSymlink(job.root, job.path, &job.target); },
      [](Napi::Env env, PathBytes& job) -> Napi::Value { return Napi::String::New(env, TextOfName(job.target)); });
}

struct PathSync {
  int root;
  std::string path;
};

Napi::Value SyncFolderAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kSync, PathSync{IntArgument(info, 0), PathArgument(info, 1)}, {},
      [](PathSync& job) -> Failure { return SyncFolder(job.root, job.path); }, Undefined<PathSync>);
}

struct RootSpace {
  int root;
  Space space;
};

// Five numbers in the order of DiskSpace.
Napi::Value SpaceResult(Napi::Env env, RootSpace& job) {
  const uint64_t numbers[] = {job.space.total_bytes, job.space.free_bytes, job.space.available_bytes,
                              job.space.total_files, job.space.free_files};
  Napi::Array result = Napi::Array::New(env);
  for (uint32_t i = 0; i < 5; ++i) result.Set(i, Napi::Number::New(env, static_cast<double>(numbers[i])));
  return result;
}

Napi::Value SpaceOfRoot(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, RootSpace{IntArgument(info, 0), {}}, {},
      [](RootSpace& job) -> Failure { return SpaceOf(job.root, &job.space); }, SpaceResult);
}

}  // namespace

void ExportRoot(Napi::Env env, Napi::Object exports) {
  exports.Set("openRoot", Napi::Function::New<OpenRootAt>(env));
  exports.Set("makeRoot", Napi::Function::New<MakeRootAt>(env));
  exports.Set("open", Napi::Function::New<Open>(env));
  exports.Set("stat", Napi::Function::New<StatOfPath>(env));
  exports.Set("setStat", Napi::Function::New<ChangeStatAt>(env));
  exports.Set("handle", Napi::Function::New<HandleAt>(env));
  exports.Set("readSymlink", Napi::Function::New<ReadSymlinkAt>(env));
  exports.Set("syncFolder", Napi::Function::New<SyncFolderAt>(env));
  exports.Set("space", Napi::Function::New<SpaceOfRoot>(env));
}

}  // namespace runnel
