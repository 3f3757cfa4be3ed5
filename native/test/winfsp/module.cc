// The stand-in as JavaScript sees it: `ask(call, arguments)` is one request of a program; the rest shows what the file
// system told its driver. Each takes a mount point last; left out: the drive that was made last.
#include <napi.h>

#include <memory>

#include "driver.h"

namespace runnel::test {
namespace {

std::wstring WideOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsString()) return {};
  const std::u16string text = value.As<Napi::String>().Utf16Value();
  return {text.begin(), text.end()};
}

Napi::String TextOf(Napi::Env env, const std::wstring& wide) {
  return Napi::String::New(env, std::u16string(wide.begin(), wide.end()));
}

uint64_t NumberOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  bool is_exact = false;
  if (value.IsBigInt()) return value.As<Napi::BigInt>().Uint64Value(&is_exact);
  return value.IsNumber() ? static_cast<uint64_t>(value.As<Napi::Number>().DoubleValue()) : 0;
}

Asked AskedOf(const Napi::Object& object) {
  Asked asked;
  asked.path = WideOf(object, "path");
  asked.to = WideOf(object, "to");
  if (object.Has("disposition")) asked.disposition = static_cast<UINT32>(NumberOf(object, "disposition"));
  asked.access = static_cast<UINT32>(NumberOf(object, "access"));
  asked.options = static_cast<UINT32>(NumberOf(object, "options"));
  asked.attributes = static_cast<UINT32>(NumberOf(object, "attributes"));
  asked.handle = static_cast<int64_t>(NumberOf(object, "handle"));
  asked.offset = NumberOf(object, "offset");
  asked.size = NumberOf(object, "size");
  asked.atime = NumberOf(object, "atime");
  asked.mtime = NumberOf(object, "mtime");
  asked.is_on = object.Get("isOn").ToBoolean();
  if (object.Get("bytes").IsTypedArray()) {
    const auto bytes = object.Get("bytes").As<Napi::Uint8Array>();
    asked.bytes.assign(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  }
  return asked;
}

Napi::Object InfoOf(Napi::Env env, const FSP_FSCTL_FILE_INFO& info) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("attributes", info.FileAttributes);
  object.Set("tag", info.ReparseTag);
  object.Set("sizeBytes", static_cast<double>(info.FileSize));
  object.Set("allocatedBytes", static_cast<double>(info.AllocationSize));
  object.Set("creation", Napi::BigInt::New(env, info.CreationTime));
  object.Set("access", Napi::BigInt::New(env, info.LastAccessTime));
  object.Set("write", Napi::BigInt::New(env, info.LastWriteTime));
  object.Set("change", Napi::BigInt::New(env, info.ChangeTime));
  object.Set("index", static_cast<double>(info.IndexNumber));
  return object;
}

Napi::Object ObjectOf(Napi::Env env, const StandInReply& told) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("status", static_cast<double>(static_cast<uint32_t>(told.status)));
  object.Set("handle", static_cast<double>(told.handle));
  object.Set("text", TextOf(env, told.text));
  object.Set("bytes", Napi::Buffer<char>::Copy(env, told.bytes.data(), told.bytes.size()));
  if (told.has_info) object.Set("info", InfoOf(env, told.info));
  Napi::Array names = Napi::Array::New(env, told.names.size());
  for (uint32_t i = 0; i < told.names.size(); ++i) {
    Napi::Object item = InfoOf(env, told.names[i].info);
    item.Set("name", TextOf(env, told.names[i].name));
    names.Set(i, item);
  }
  object.Set("names", names);
  object.Set("totalBytes", static_cast<double>(told.volume.TotalSize));
  object.Set("freeBytes", static_cast<double>(told.volume.FreeSize));
  object.Set("label", TextOf(env, {told.volume.VolumeLabel, told.volume.VolumeLabelLength / sizeof(WCHAR)}));
  return object;
}

// The driver of the drive that the argument names.
Driver& DriverOf(const Napi::CallbackInfo& info, size_t at) {
  if (!info[at].IsString()) return Driver::At({});
  const std::u16string text = info[at].As<Napi::String>().Utf16Value();
  return Driver::At({text.begin(), text.end()});
}

Napi::ThreadSafeFunction to_javascript;

Napi::Value Ask(const Napi::CallbackInfo& info) {
  const auto deferred = std::make_shared<Napi::Promise::Deferred>(info.Env());
  const auto done = [deferred](StandInReply told) {
    to_javascript.NonBlockingCall(
        [deferred, told = std::move(told)](Napi::Env env, Napi::Function) { deferred->Resolve(ObjectOf(env, told)); });
  };
  const std::string call = info[0].As<Napi::String>().Utf8Value();
  DriverOf(info, 2).Ask(call, AskedOf(info[1].As<Napi::Object>()), done);
  return deferred->Promise();
}

// The notifications since the last call: [action, filter, path].
Napi::Value Heard(const Napi::CallbackInfo& info) {
  const std::vector<Notification> heard = DriverOf(info, 0).TakeHeard();
  Napi::Array all = Napi::Array::New(info.Env(), heard.size());
  for (uint32_t i = 0; i < heard.size(); ++i) {
    Napi::Array one = Napi::Array::New(info.Env(), 3);
    one.Set(0u, heard[i].action);
    one.Set(1u, heard[i].filter);
    one.Set(2u, TextOf(info.Env(), heard[i].path));
    all.Set(i, one);
  }
  return all;
}

Napi::Value Volume(const Napi::CallbackInfo& info) {
  Driver& driver = DriverOf(info, 0);
  const FSP_FSCTL_VOLUME_PARAMS params = driver.params();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("mountpoint", TextOf(info.Env(), driver.mountpoint()));
  object.Set("prefix", TextOf(info.Env(), driver.prefix()));
  object.Set("device", TextOf(info.Env(), driver.device()));
  object.Set("isReadOnly", params.ReadOnlyVolume != 0);
  object.Set("isCaseSensitive", params.CaseSensitiveSearch != 0);
  object.Set("hasStreams", params.NamedStreams != 0);
  object.Set("fileInfoTimeoutMs", params.FileInfoTimeout);
  return object;
}

// The driver ends the file system by itself, as when WinFsp is removed.
Napi::Value EndOutside(const Napi::CallbackInfo& info) {
  DriverOf(info, 0).Stop(false);
  return info.Env().Undefined();
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  to_javascript =
      Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "driver", 0, 1);
  to_javascript.Unref(env);
  exports.Set("ask", Napi::Function::New(env, Ask));
  exports.Set("heard", Napi::Function::New(env, Heard));
  exports.Set("volume", Napi::Function::New(env, Volume));
  exports.Set("endOutside", Napi::Function::New(env, EndOutside));
  return exports;
}

}  // namespace
}  // namespace runnel::test

static Napi::Object Start(Napi::Env env, Napi::Object exports) { return runnel::test::Init(env, exports); }

NODE_API_MODULE(winfsp, Start)
