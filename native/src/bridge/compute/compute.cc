// Jobs that cut and compress.
#include <utility>
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

struct BytesToChunk {
  const ChunkPreset* preset;
  Bytes bytes;
  ChunkList chunks;
};

Napi::Value ChunkBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, BytesToChunk{&PresetArgument(info, 1), BytesOf(info[0]), {}},
      {info[0].As<Napi::Object>()},
      [](BytesToChunk& job) -> Failure {
        ChunkStream stream(*job.preset);
        stream.Update(job.bytes.data, job.bytes.length);
        job.chunks = stream.Finish();
        return {};
      },
      [](Napi::Env env, BytesToChunk& job) -> Napi::Value { return ChunksResult(env, job.chunks); });
}

struct FileToChunk {
  const ChunkPreset* preset;
  int fd;
  uint64_t offset;
  uint64_t length;
  ChunkList chunks;
};

Napi::Value ChunkFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute,
      FileToChunk{&PresetArgument(info, 3), IntArgument(info, 0), SizeArgument(info, 1), SizeArgument(info, 2), {}}, {},
      [](FileToChunk& job) -> Failure {
        ChunkStream stream(*job.preset);
        const Failure failure = ReadRange(
            job.fd, job.offset, job.length, [&](const uint8_t* bytes, size_t length) { stream.Update(bytes, length); },
            [&](uint64_t length) { stream.UpdateZeros(length); });
        job.chunks = stream.Finish();
        return failure;
      },
      [](Napi::Env env, FileToChunk& job) -> Napi::Value { return ChunksResult(env, job.chunks); });
}

struct Compressing {
  Bytes bytes;
  Bytes prefix;
  int level;
  bool is_smaller;
  std::vector<uint8_t> output;
};

Napi::Value CompressBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, Compressing{BytesOf(info[0]), BytesOf(info[1]), IntArgument(info, 2), false, {}},
      {info[0].As<Napi::Object>(), info[1].As<Napi::Object>()},
      [](Compressing& job) -> Failure {
        job.is_smaller = Compress(ViewOf(job.bytes), ViewOf(job.prefix), job.level, &job.output);
        return {};
      },
      [](Napi::Env env, Compressing& job) -> Napi::Value {
        return job.is_smaller ? CopyOf(env, job.output.data(), job.output.size()) : env.Undefined();
      });
}

struct Decompressing {
  Bytes bytes;
  Bytes prefix;
  Bytes output;
};

Napi::Value DecompressBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, Decompressing{BytesOf(info[0]), BytesOf(info[1]), BytesOf(info[2])},
      {info[0].As<Napi::Object>(), info[1].As<Napi::Object>(), info[2].As<Napi::Object>()},
      [](Decompressing& job) -> Failure {
        const bool is_whole = Decompress(ViewOf(job.bytes), ViewOf(job.prefix), job.output.data, job.output.length);
        return is_whole ? Failure() : Failure(kCorruptCode);
      },
      Undefined<Decompressing>);
}

}  // namespace

void ExportCompute(Napi::Env env, Napi::Object exports) {
  exports.Set("chunkBytes", Napi::Function::New<ChunkBytes>(env));
  exports.Set("chunkFile", Napi::Function::New<ChunkFile>(env));
  exports.Set("compress", Napi::Function::New<CompressBytes>(env));
  exports.Set("decompress", Napi::Function::New<DecompressBytes>(env));
}

}  // namespace runnel
