#include "arguments.h"

#include "src/file/name_text.h"

namespace runnel {

namespace {

constexpr double kSizeMax = 9007199254740992.0;  // 2^53

Napi::Number NumberArgument(const Napi::CallbackInfo& info, size_t at) {
  if (!info[at].IsNumber()) throw Napi::TypeError::New(info.Env(), "argument " + std::to_string(at) + " is no number");
  return info[at].As<Napi::Number>();
}

bool OptionalNumber(const Napi::CallbackInfo& info, size_t at, uint32_t* value) {
  if (info[at].IsUndefined()) return false;
  *value = NumberArgument(info, at).Uint32Value();
  return true;
}

}  // namespace

int32_t IntArgument(const Napi::CallbackInfo& info, size_t at) { return NumberArgument(info, at).Int32Value(); }

uint64_t SizeArgument(const Napi::CallbackInfo& info, size_t at) {
  const double value = NumberArgument(info, at).DoubleValue();
  if (!(value >= 0 && value <= kSizeMax)) {
    throw Napi::RangeError::New(info.Env(), "argument " + std::to_string(at) + " is no size");
  }
  return static_cast<uint64_t>(value);
}

std::string TextArgument(const Napi::CallbackInfo& info, size_t at) {
  if (!info[at].IsString()) throw Napi::TypeError::New(info.Env(), "argument " + std::to_string(at) + " is no string");
  return info[at].As<Napi::String>().Utf8Value();
}

std::string PathArgument(const Napi::CallbackInfo& info, size_t at) { return NameOfText(TextArgument(info, at)); }

PathBeneath PathArguments(const Napi::CallbackInfo& info) { return {IntArgument(info, 0), PathArgument(info, 1)}; }

uint32_t ModeArgument(const Napi::CallbackInfo& info, size_t at) {
  return static_cast<uint32_t>(SizeArgument(info, at));
}

Bytes BytesOf(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throw Napi::TypeError::New(value.Env(), "bytes must be a Uint8Array");
  }
  auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.ByteLength()};
}

const ChunkPreset& PresetArgument(const Napi::CallbackInfo& info, size_t at) {
  if (info[at].IsUndefined()) return kChunkPresets[0];
  const uint64_t preset = SizeArgument(info, at);
  if (preset >= kChunkPresetCount) throw Napi::RangeError::New(info.Env(), "no such preset of the chunker");
  return kChunkPresets[preset];
}

std::span<const Sha256Engine> Sha256Argument(const Napi::CallbackInfo& info, size_t at) {
  if (info[at].IsUndefined()) return Sha256Engines();
  const std::string name = TextArgument(info, at);
  for (const Sha256Engine& engine : Sha256Engines()) {
    if (name == engine.name) return {&engine, 1};
  }
  throw Napi::RangeError::New(info.Env(), "no such SHA-256 engine here: " + name);
}

StatChange StatChangeArguments(const Napi::CallbackInfo& info, size_t at) {
  StatChange change;
  change.has_mode = OptionalNumber(info, at, &change.mode);
  change.has_uid = OptionalNumber(info, at + 1, &change.uid);
  change.has_gid = OptionalNumber(info, at + 2, &change.gid);
  if (!info[at + 3].IsUndefined()) {
    if (!info[at + 3].IsBigInt()) throw Napi::TypeError::New(info.Env(), "mtimeNs is no bigint");
    bool is_lossless = false;
    change.mtime_ns = info[at + 3].As<Napi::BigInt>().Int64Value(&is_lossless);
    change.has_mtime = true;
  }
  return change;
}

}  // namespace runnel
