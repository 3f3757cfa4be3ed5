// Jobs that cut and compress.
#include <optional>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/bridge/disk/read.h"
#include "src/chunk/chunk_stream.h"
#include "src/codec/zstd_codec.h"

namespace runnel {

namespace {

Napi::Value ChunkBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, ChunkList(), {info[0].As<Napi::Object>()},
      [preset = &PresetArgument(info, 1), bytes = BytesOf(info[0])](ChunkList& chunks) {
        ChunkStream stream(*preset);
        stream.Update(bytes.data, bytes.length);
        chunks = stream.Finish();
        return 0;
      },
      ChunksResult);
}

Napi::Value ChunkFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, ChunkList(), {},
      [preset = &PresetArgument(info, 3), fd = IntArgument(info, 0), offset = SizeArgument(info, 1),
       length = SizeArgument(info, 2)](ChunkList& chunks) {
        ChunkStream stream(*preset);
        const Failure failure = ReadRange(
            fd, offset, length, [&](const uint8_t* bytes, size_t count) { stream.Update(bytes, count); },
            [&](uint64_t count) { stream.UpdateZeros(count); });
        chunks = stream.Finish();
        return failure;
      },
      ChunksResult);
}

Napi::Value CompressBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, std::optional<std::vector<uint8_t>>(),
      {info[0].As<Napi::Object>(), info[1].As<Napi::Object>()},
      [bytes = BytesOf(info[0]), prefix = BytesOf(info[1]),
       level = IntArgument(info, 2)](std::optional<std::vector<uint8_t>>& output) {
        if (!Compress(ViewOf(bytes), ViewOf(prefix), level, &output.emplace())) output.reset();
        return 0;
      },
      [](Napi::Env env, std::optional<std::vector<uint8_t>>& output) -> Napi::Value {
        return output.has_value() ? BytesResult(env, *output) : env.Undefined();
      });
}

Napi::Value DecompressBytes(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kCompute,
                  {info[0].As<Napi::Object>(), info[1].As<Napi::Object>(), info[2].As<Napi::Object>()},
                  [bytes = BytesOf(info[0]), prefix = BytesOf(info[1]), output = BytesOf(info[2])] {
                    const bool is_whole = Decompress(ViewOf(bytes), ViewOf(prefix), output.data, output.length);
                    return is_whole ? Failure() : Failure(kCorruptCode);
                  });
}

}  // namespace

void ExportCompute(Napi::Env env, Napi::Object exports) {
  exports.Set("chunkBytes", Napi::Function::New<ChunkBytes>(env));
  exports.Set("chunkFile", Napi::Function::New<ChunkFile>(env));
  exports.Set("compress", Napi::Function::New<CompressBytes>(env));
  exports.Set("decompress", Napi::Function::New<DecompressBytes>(env));
}

}  // namespace runnel
