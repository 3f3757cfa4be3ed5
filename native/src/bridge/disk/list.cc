// Jobs that list a folder that root.cc has opened.
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

struct Listing {
  std::vector<Entry> entries;
  std::vector<uint8_t> stats;
};

Failure ListBatch(int folder, Listing& job) {
  const int error = ListNext(folder, &job.entries);
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
  result.Set("stats", BytesResult(env, job.stats));
  return result;
}

Napi::Value List(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Listing(), {},
      [folder = IntArgument(info, 0)](Listing& job) { return ListBatch(folder, job); }, BatchResult);
}

}  // namespace

void ExportList(Napi::Env env, Napi::Object exports) { exports.Set("listNext", Napi::Function::New<List>(env)); }

}  // namespace runnel
