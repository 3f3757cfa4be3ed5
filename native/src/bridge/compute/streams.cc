// The same computations at once, on the caller's thread: streams that take bytes as they come, and the codec.
#include <span>
#include <string>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/failure.h"
#include "src/bridge/core/results.h"
#include "src/chunk/chunk_stream.h"
#include "src/codec/zstd_codec.h"
#include "src/digest/sha256.h"

namespace runnel {

namespace {

// "plain" or the name of one of ScanEngines(); undefined is the fastest.
BreakpointScan ScanArgument(const Napi::CallbackInfo& info, size_t at) {
  if (info[at].IsUndefined()) return FastestScan();
  const std::string name = TextArgument(info, at);
  if (name == "plain") return nullptr;
  for (const ScanEngine& engine : ScanEngines()) {
    if (name == engine.name) return engine.scan;
  }
  throw Napi::RangeError::New(info.Env(), "no such chunker here: " + name);
}

// "none" digests nothing.
ChunkEngines EnginesArgument(const Napi::CallbackInfo& info) {
  const BreakpointScan scan = ScanArgument(info, 0);
  const bool is_none = info[2].IsString() && TextArgument(info, 2) == "none";
  return {scan, is_none ? std::span<const Sha256Engine>() : Sha256Argument(info, 2)};
}

class ChunkStreamObject : public Napi::ObjectWrap<ChunkStreamObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, "ChunkStream",
        {InstanceMethod<&ChunkStreamObject::Update>("update"), InstanceMethod<&ChunkStreamObject::Finish>("finish")});
  }

  explicit ChunkStreamObject(const Napi::CallbackInfo& info)
      : ObjectWrap(info), stream_(PresetArgument(info, 1), EnginesArgument(info)) {}

 private:
  void Update(const Napi::CallbackInfo& info) {
    const Bytes bytes = BytesOf(info[0]);
    stream_.Update(bytes.data, bytes.length);
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) { return ChunksResult(info.Env(), stream_.Finish()); }

  ChunkStream stream_;
};

// An engine of one stream.
const Sha256Engine& OneStreamArgument(const Napi::CallbackInfo& info) {
  if (info[0].IsUndefined()) return FastestSha256();
  const Sha256Engine& engine = Sha256Argument(info, 0).front();
  if (engine.streams != 1)
    throw Napi::RangeError::New(info.Env(), std::string("for many streams only: ") + engine.name);
  return engine;
}

class DigestStreamObject : public Napi::ObjectWrap<DigestStreamObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, "DigestStream",
        {InstanceMethod<&DigestStreamObject::Update>("update"), InstanceMethod<&DigestStreamObject::Finish>("finish")});
  }

  explicit DigestStreamObject(const Napi::CallbackInfo& info) : ObjectWrap(info), digest_(OneStreamArgument(info)) {}

 private:
  void Update(const Napi::CallbackInfo& info) {
    const Bytes bytes = BytesOf(info[0]);
    digest_.Update(bytes.data, bytes.length);
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) {
    const Digest digest = digest_.Finish();
    return CopyOf(info.Env(), digest.data(), digest.size());
  }

  Sha256 digest_;
};

Napi::Value CompressNow(const Napi::CallbackInfo& info) {
  const Bytes bytes = BytesOf(info[0]);
  std::vector<uint8_t> output;
  const bool is_smaller = Compress(ViewOf(bytes), ViewOf(BytesOf(info[1])), IntArgument(info, 2), &output);
  return is_smaller ? CopyOf(info.Env(), output.data(), output.size()) : info.Env().Undefined();
}

Napi::Value MayHoldRunNow(const Napi::CallbackInfo& info) {
  const Bytes bytes = BytesOf(info[0]);
  return Napi::Boolean::New(info.Env(), MayHoldRun(ViewOf(bytes), SizeArgument(info, 1)));
}

Napi::Value DecompressNow(const Napi::CallbackInfo& info) {
  const Bytes bytes = BytesOf(info[0]);
  const Bytes output = BytesOf(info[2]);
  if (!Decompress(ViewOf(bytes), ViewOf(BytesOf(info[1])), output.data, output.length)) {
    throw MakeError(info.Env(), Failure(kCorruptCode));
  }
  return info.Env().Undefined();
}

template <typename Engine>
Napi::Array NamesOf(Napi::Env env, std::span<const Engine> engines) {
  Napi::Array names = Napi::Array::New(env);
  for (const Engine& engine : engines) names.Set(names.Length(), Napi::String::New(env, engine.name));
  return names;
}

}  // namespace

void ExportStreams(Napi::Env env, Napi::Object exports) {
  exports.Set("ChunkStream", ChunkStreamObject::Define(env));
  exports.Set("DigestStream", DigestStreamObject::Define(env));
  exports.Set("chunkEngines", NamesOf(env, ScanEngines()));
  exports.Set("digestEngines", NamesOf(env, Sha256Engines()));
  exports.Set("compressNow", Napi::Function::New<CompressNow>(env));
  exports.Set("mayHoldRun", Napi::Function::New<MayHoldRunNow>(env));
  exports.Set("decompressNow", Napi::Function::New<DecompressNow>(env));
}

}  // namespace runnel
