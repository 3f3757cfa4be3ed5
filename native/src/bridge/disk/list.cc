// Jobs that list a folder.
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

struct FolderOpening {
  int root;
  std::string path;
  Descriptor opened;
};

Napi::Value ListOpen(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, FolderOpening{IntArgument(info, 0), PathArgument(info, 1), {}}, {},
      [](FolderOpening& job) -> Failure { return OpenFolder(job.root, job.path, &job.opened); },
      [](Napi::Env env, FolderOpening& job) -> Napi::Value { return Napi::Number::New(env, job.opened.Release()); });
}

struct Listing {
  int folder;
  std::vector<Entry> entries;
  std::vector<uint8_t> stats;
};

Failure ListBatch(Listing& job) {
  const int error = ListNext(job.folder, &job.entries);
  if (error != 0) return error;
  job.stats.resize(job.entries.size() * kStatRecordBytes);
  for (size_t i = 0; i < job.entries.size(); ++i) {
    PutStat(job.entries[i].stat, job.stats.data() + i * kStatRecordBytes);
  }
  return {};
}

Napi::Value BatchResult(Napi::Env env, Listing& job) {
  Napi::Array names = Napi::Array::New(env, job.entries.size());
  for (size_t i = 0; i < job.entries.size(); ++i) {
    const Napi::HandleScope scope(env);
    const Entry& entry = job.entries[i];
    const std::string text = TextOfName(entry.name);
    const bool is_too_long = text.size() > kNameBytesMax;
    const Napi::Value name = is_too_long ? env.Undefined() : Napi::Value(Napi::String::New(env, text));
    names.Set(static_cast<uint32_t>(i), name);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("names", names);
  result.Set("stats", CopyOf(env, job.stats.data(), job.stats.size()));
  return result;
}

Napi::Value List(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, Listing{IntArgument(info, 0), {}, {}}, {}, ListBatch, BatchResult);
}

}  // namespace

void ExportList(Napi::Env env, Napi::Object exports) {
  exports.Set("listOpen", Napi::Function::New<ListOpen>(env));
  exports.Set("listNext", Napi::Function::New<List>(env));
}

}  // namespace runnel
