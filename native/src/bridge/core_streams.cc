// The same computations at once, on the caller's thread: streams that take bytes as they come, and the codec.
#include <vector>

#include "src/bridge/core_arguments.h"
#include "src/bridge/core_exports.h"
#include "src/bridge/core_failure.h"
#include "src/bridge/core_results.h"
#include "src/chunk/chunk_stream.h"
#include "src/codec/zstd_codec.h"
#include "src/digest/sha256.h"

namespace runnel {

namespace {

// "plain", "portable", "avx2" and "gfni" force an engine; undefined is the fastest.
BreakpointScan ScanArgument(const Napi::CallbackInfo& info) {
  if (info[0].IsUndefined()) return FastestScan();
  const std::string name = TextArgument(info, 0);
  if (name == "plain") return nullptr;
  if (name == "portable") return &ScanPortable;
  if (name == "avx2" && ScanAvx2() != nullptr) return ScanAvx2();
  if (name == "gfni" && ScanGfni() != nullptr) return ScanGfni();
  throw Napi::RangeError::New(info.Env(), "no such chunker here: " + name);
}

class ChunkStreamObject : public Napi::ObjectWrap<ChunkStreamObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "ChunkStream",
                       {InstanceMethod<&ChunkStreamObject::Update>("update"),
                        InstanceMethod<&ChunkStreamObject::Finish>("finish")});
  }

  explicit ChunkStreamObject(const Napi::CallbackInfo& info) : ObjectWrap(info), stream_(PresetArgument(info, 1), ScanArgument(info)) {}

 private:
  void Update(const Napi::CallbackInfo& info) {
    const Bytes bytes = BytesOf(info[0]);
    stream_.Update(bytes.data, bytes.length);
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) { return ChunksResult(info.Env(), stream_.Finish()); }

  ChunkStream stream_;
};

// "portable" and "instructions" force an engine; undefined is the fastest.
Sha256Engine EngineArgument(const Napi::CallbackInfo& info) {
  if (info[0].IsUndefined()) return FastestSha256();
  const std::string name = TextArgument(info, 0);
  if (name == "portable") return &Sha256Portable;
  if (name == "instructions" && Sha256Instructions() != nullptr) return Sha256Instructions();
  throw Napi::RangeError::New(info.Env(), "no such SHA-256 engine here: " + name);
}

class DigestStreamObject : public Napi::ObjectWrap<DigestStreamObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "DigestStream",
                       {InstanceMethod<&DigestStreamObject::Update>("update"),
                        InstanceMethod<&DigestStreamObject::Finish>("finish")});
  }

  explicit DigestStreamObject(const Napi::CallbackInfo& info) : ObjectWrap(info), digest_(EngineArgument(info)) {}

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

}  // namespace

void ExportStreams(Napi::Env env, Napi::Object exports) {
  exports.Set("ChunkStream", ChunkStreamObject::Define(env));
  exports.Set("DigestStream", DigestStreamObject::Define(env));
  exports.Set("compressNow", Napi::Function::New<CompressNow>(env));
  exports.Set("mayHoldRun", Napi::Function::New<MayHoldRunNow>(env));
  exports.Set("decompressNow", Napi::Function::New<DecompressNow>(env));
}

}  // namespace runnel
