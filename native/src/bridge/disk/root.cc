// Jobs on roots and on what a path names, without changing names.
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/file.h"
#include "src/file/name_text.h"
#include "src/file/root.h"

namespace runnel {

namespace {

// The descriptor is JavaScript's from here on.
Napi::Value GiveDescriptor(Napi::Env env, Descriptor& opened) { return Napi::Number::New(env, opened.Release()); }

Napi::Value OpenRootAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Descriptor(), {},
      [path = TextArgument(info, 0)](Descriptor& opened) { return OpenRoot(path, &opened); }, GiveDescriptor);
}

Napi::Value MakeRootAt(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {}, [path = TextArgument(info, 0), permissions = ModeArgument(info, 1)] {
    return MakeRoot(path, permissions);
  });
}

Napi::Value Open(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Descriptor(), {},
      [at = PathArguments(info), mode = static_cast<OpenMode>(IntArgument(info, 2)),
       permissions = ModeArgument(info, 3)](Descriptor& opened) {
        return OpenFile(at.root, at.path, mode, permissions, &opened);
      },
      GiveDescriptor);
}

// Arguments root, path, mode, permissions, bytes, whether it is synced, and a change of its attributes.
WholeFile WholeFileArguments(const Napi::CallbackInfo& info) {
  const Bytes bytes = BytesOf(info[4]);
  return {PathArgument(info, 1), static_cast<OpenMode>(IntArgument(info, 2)),
          ModeArgument(info, 3), bytes.data,
          bytes.length,          StatChangeArguments(info, 6),
          info[5].ToBoolean()};
}

Lane LaneOf(const WholeFile& whole) { return whole.is_synced ? Lane::kSync : Lane::kQuick; }

Napi::Value ReadFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, std::vector<uint8_t>(), {},
      [at = PathArguments(info), length_max = SizeArgument(info, 2)](std::vector<uint8_t>& bytes) {
        return ReadFileAt(at.root, at.path, length_max, &bytes);
      },
      BytesResult);
}

Napi::Value WriteFile(const Napi::CallbackInfo& info) {
  const WholeFile whole = WholeFileArguments(info);
  return StartJob(info.Env(), LaneOf(whole), {info[4].As<Napi::Object>()}, [root = IntArgument(info, 0), whole] {
    Descriptor file;
    return WriteFileAt(root, whole, &file);
  });
}

struct MadeFile {
  Descriptor file;
  Identity identity;
};

// { fd, identity }
Napi::Value MadeFileResult(Napi::Env env, MadeFile& made) {
  const auto result = Napi::Object::New(env);
  result.Set("identity", IdentityResult(env, made.identity));
  result.Set("fd", GiveDescriptor(env, made.file));
  return result;
}

Napi::Value MakeFile(const Napi::CallbackInfo& info) {
  const WholeFile whole = WholeFileArguments(info);
  return StartJob(
      info.Env(), LaneOf(whole), MadeFile(), {info[4].As<Napi::Object>()},
      [root = IntArgument(info, 0), whole](MadeFile& made) {
        int error = WriteFileAt(root, whole, &made.file);
        if (error == 0) error = StatFile(made.file.get(), &made.identity.stat);
        return error == 0 ? HandleOf(made.file.get(), &made.identity.handle) : error;
      },
      MadeFileResult);
}

struct WriterSought {
  Lease lease = Lease::kRefused;
  Stat stat;
};

// { lease, stat }
Napi::Value WriterResult(Napi::Env env, WriterSought& sought) {
  const auto result = Napi::Object::New(env);
  result.Set("lease", NumberResult<Lease>(env, sought.lease));
  result.Set("stat", StatResult(env, sought.stat));
  return result;
}

Napi::Value LookForWriter(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, WriterSought(), {},
      [at = PathArguments(info)](WriterSought& sought) {
        Descriptor file;
        const int error = OpenFile(at.root, at.path, OpenMode::kRead, 0, &file);
        if (error != 0) return error;
        sought.lease = TakeLease(file.get());
        return StatFile(file.get(), &sought.stat);
      },
      WriterResult);
}

Napi::Value OpenFolderAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Descriptor(), {},
      [at = PathArguments(info)](Descriptor& opened) { return OpenFolder(at.root, at.path, &opened); }, GiveDescriptor);
}

Napi::Value StatOfPath(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Stat(), {},
      [at = PathArguments(info)](Stat& stat) { return StatPath(at.root, at.path, &stat); }, StatResult);
}

// Types of what could not be had: nothing is there, or it is not known why.
constexpr double kAbsent = -1;
constexpr double kUnknown = -2;

struct StatsSought {
  std::vector<std::string> paths;
  std::vector<uint8_t> stats;
};

// A record for each path, which has only a type where it could not be had.
Napi::Value StatsOfPaths(const Napi::CallbackInfo& info) {
  const auto paths = info[1].As<Napi::Array>();
  StatsSought sought;
  for (uint32_t i = 0; i < paths.Length(); ++i)
    sought.paths.push_back(NameOfText(paths.Get(i).As<Napi::String>().Utf8Value()));
  return StartJob(
      info.Env(), Lane::kQuick, std::move(sought), {},
      [root = IntArgument(info, 0)](StatsSought& found) {
        found.stats.resize(found.paths.size() * kStatRecordBytes);
        for (size_t i = 0; i < found.paths.size(); ++i) {
          Stat stat;
          uint8_t* const record = found.stats.data() + i * kStatRecordBytes;
          const int error = StatPath(root, found.paths[i], &stat);
          const double type = error == ENOENT || error == ENOTDIR ? kAbsent : kUnknown;
          if (error == 0) {
            PutStat(stat, record);
          } else {
            std::memcpy(record, &type, sizeof type);
          }
        }
        return 0;
      },
      [](Napi::Env env, StatsSought& found) { return BytesResult(env, found.stats); });
}

Napi::Value ChangeStatAt(const Napi::CallbackInfo& info) {
  const Bytes handle = BytesOf(info[6]);
  return StartJob(info.Env(), Lane::kQuick, {},
                  [at = PathArguments(info), change = StatChangeArguments(info, 2),
                   expected = std::vector<uint8_t>(handle.data, handle.data + handle.length)] {
                    return ChangeStatOfPath(at.root, at.path, change, expected);
                  });
}

Napi::Value HandleAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, std::vector<uint8_t>(), {},
      [at = PathArguments(info)](std::vector<uint8_t>& handle) { return HandleOfPath(at.root, at.path, &handle); },
      BytesResult);
}

Napi::Value IdentifyAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Identity(), {},
      [at = PathArguments(info)](Identity& found) {
        return IdentifyPath(at.root, at.path, &found.stat, &found.handle);
      },
      IdentityResult);
}

Napi::Value ReadSymlinkAt(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, std::string(), {},
      [at = PathArguments(info)](std::string& target) { return ReadSymlink(at.root, at.path, &target); },
      [](Napi::Env env, std::string& target) { return Napi::String::New(env, TextOfName(target)); });
}

Napi::Value SyncFolderAt(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kSync, {}, [at = PathArguments(info)] { return SyncFolder(at.root, at.path); });
}

// Five numbers in the order of DiskSpace.
Napi::Value SpaceResult(Napi::Env env, Space& space) {
  const uint64_t numbers[] = {space.total_bytes, space.free_bytes, space.available_bytes, space.total_files,
                              space.free_files};
  Napi::Array result = Napi::Array::New(env);
  for (uint32_t i = 0; i < 5; ++i) result.Set(i, Napi::Number::New(env, static_cast<double>(numbers[i])));
  return result;
}

Napi::Value SpaceOfRoot(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Space(), {},
      [root = IntArgument(info, 0)](Space& space) { return SpaceOf(root, &space); }, SpaceResult);
}

}  // namespace

void ExportRoot(Napi::Env env, Napi::Object exports) {
  exports.Set("openRoot", Napi::Function::New<OpenRootAt>(env));
  exports.Set("makeRoot", Napi::Function::New<MakeRootAt>(env));
  exports.Set("open", Napi::Function::New<Open>(env));
  exports.Set("readFile", Napi::Function::New<ReadFile>(env));
  exports.Set("writeFile", Napi::Function::New<WriteFile>(env));
  exports.Set("makeFile", Napi::Function::New<MakeFile>(env));
  exports.Set("lookForWriter", Napi::Function::New<LookForWriter>(env));
  exports.Set("listOpen", Napi::Function::New<OpenFolderAt>(env));
  exports.Set("stat", Napi::Function::New<StatOfPath>(env));
  exports.Set("statAll", Napi::Function::New<StatsOfPaths>(env));
  exports.Set("setStat", Napi::Function::New<ChangeStatAt>(env));
  exports.Set("handle", Napi::Function::New<HandleAt>(env));
  exports.Set("identify", Napi::Function::New<IdentifyAt>(env));
  exports.Set("readSymlink", Napi::Function::New<ReadSymlinkAt>(env));
  exports.Set("syncFolder", Napi::Function::New<SyncFolderAt>(env));
  exports.Set("space", Napi::Function::New<SpaceOfRoot>(env));
}

}  // namespace runnel
