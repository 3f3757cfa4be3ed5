// drive.node: exports the class NativeDrive, and what a killed one left.
#include <napi.h>

#include "convert.h"
#include "object.h"
#include "src/drive/early/early_log.h"
#include "src/drive/early/early_record.h"

namespace {

// (path, boot) → { requests, last }: what a killed process left in its log of early answers.
Napi::Value LeftEarly(const Napi::CallbackInfo& info) {
  using runnel::drive::EarlyLog;
  uint64_t last = 0;
  const std::vector<EarlyLog::Record> records =
      EarlyLog::Left(info[0].As<Napi::String>().Utf8Value(), info[1].As<Napi::String>().Utf8Value(), &last);
  const auto requests = Napi::Array::New(info.Env());
  for (const EarlyLog::Record& record : records) {
    std::optional<runnel::drive::Message> message = runnel::drive::DecodeEarly(record.bytes);
    if (!message.has_value()) break;
    message->early_number = record.number;
    requests.Set(requests.Length(), runnel::bridge::ToObject(info.Env(), *message));
  }
  const auto left = Napi::Object::New(info.Env());
  left.Set("requests", requests);
  left.Set("last", Napi::Number::New(info.Env(), static_cast<double>(last)));
  return left;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeDrive", runnel::bridge::DriveObject::Define(env));
  exports.Set("leftEarly", Napi::Function::New<LeftEarly>(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(drive, Init)
