// Jobs that cut, digest and compress.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/bridge/core_arguments.h"
#include "src/bridge/core_exports.h"
#include "src/bridge/core_job.h"
#include "src/bridge/core_results.h"
#include "src/chunk/chunk_stream.h"
#include "src/chunk/zero_chunk.h"
#include "src/codec/zstd_codec.h"
#include "src/digest/sha256.h"
#include "src/file/file.h"

namespace runnel {

namespace {

constexpr size_t kStepBytes = 1024 * 1024;

struct BytesToChunk {
  const ChunkPreset* preset;
  Bytes bytes;
  ChunkList chunks;
};

Napi::Value ChunkBytes(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute, BytesToChunk{&PresetArgument(info, 1), BytesOf(info[0]), {}}, {info[0].As<Napi::Object>()},
      [](BytesToChunk& job) -> Failure {
        ChunkStream stream(*job.preset);
        stream.Update(job.bytes.data, job.bytes.length);
        job.chunks = stream.Finish();
        return {};
      },
      [](Napi::Env env, BytesToChunk& job) -> Napi::Value { return ChunksResult(env, job.chunks); });
}

// Feeds a range of a file to `take` in steps of a megabyte, the next one being read ahead meanwhile. Holes are not read: the system would fill
// memory with their zeros.
template <typename Take>
Failure ReadRange(int fd, uint64_t offset, uint64_t length, Take take) {
  std::vector<uint8_t> buffer(static_cast<size_t>(std::min<uint64_t>(length, kStepBytes)));
  bool has_zeros = true;
  Extent extent = {false, 0};
  for (uint64_t done = 0; done < length;) {
    if (extent.length == 0) extent = ExtentAt(fd, offset + done, length - done);
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(extent.length, buffer.size()));
    size_t count = wanted;
    if (extent.is_hole) {
      if (!has_zeros) std::fill(buffer.begin(), buffer.end(), 0);
      has_zeros = true;
    } else {
      if (extent.length > wanted) WillRead(fd, offset + done + wanted, kStepBytes);
      const int error = ReadAt(fd, offset + done, buffer.data(), wanted, &count);
      has_zeros = false;
      if (error != 0) return error;
      if (count < wanted) return Failure(kStaleCode);
    }
    take(buffer.data(), count);
    done += count;
    extent.length -= count;
  }
  return {};
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
      info.Env(), Lane::kCompute, FileToChunk{&PresetArgument(info, 3), IntArgument(info, 0), SizeArgument(info, 1), SizeArgument(info, 2), {}},
      {},
      [](FileToChunk& job) -> Failure {
        ChunkStream stream(*job.preset);
        const Failure failure = ReadRange(job.fd, job.offset, job.length, [&](const uint8_t* bytes, size_t length) {
          stream.Update(bytes, length);
        });
        job.chunks = stream.Finish();
        return failure;
      },
      [](Napi::Env env, FileToChunk& job) -> Napi::Value { return ChunksResult(env, job.chunks); });
}

struct BuffersToDigest {
  std::vector<Bytes> buffers;
  std::vector<Digest> digests;
};

Napi::Value DigestsResult(Napi::Env env, const std::vector<Digest>& digests) {
  return CopyOf(env, digests.data(), digests.size() * kDigestBytes);
}

Napi::Value DigestBuffers(const Napi::CallbackInfo& info) {
  const auto array = info[0].As<Napi::Array>();
  BuffersToDigest job;
  for (uint32_t i = 0; i < array.Length(); ++i) job.buffers.push_back(BytesOf(array.Get(i)));
  return StartJob(
      info.Env(), Lane::kCompute, std::move(job), {array},
      [](BuffersToDigest& digesting) -> Failure {
        Sha256 digest;
        for (const Bytes& bytes : digesting.buffers) {
          digest.Update(bytes.data, bytes.length);
          digesting.digests.push_back(digest.Finish());
        }
        return {};
      },
      [](Napi::Env env, BuffersToDigest& digested) { return DigestsResult(env, digested.digests); });
}

struct RangesToDigest {
  int fd;
  std::vector<uint64_t> ranges;  // offset, length, offset, length, …
  std::vector<Digest> digests;
};

Napi::Value DigestFile(const Napi::CallbackInfo& info) {
  const auto array = info[1].As<Napi::Array>();
  RangesToDigest job = {IntArgument(info, 0), {}, {}};
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const int64_t number = array.Get(i).As<Napi::Number>().Int64Value();
    job.ranges.push_back(static_cast<uint64_t>(std::max<int64_t>(number, 0)));
  }
  return StartJob(
      info.Env(), Lane::kCompute, std::move(job), {},
      [](RangesToDigest& digesting) -> Failure {
        Sha256 digest;
        for (size_t i = 0; i + 1 < digesting.ranges.size(); i += 2) {
          const uint64_t wanted = digesting.ranges[i + 1];
          const ZeroChunk* zero_chunk = nullptr;
          const Failure failure =
              ReadRange(digesting.fd, digesting.ranges[i], wanted, [&](const uint8_t* bytes, size_t length) {
                zero_chunk = length == wanted ? IsZeroChunk(bytes, length) : nullptr;
                if (zero_chunk == nullptr) digest.Update(bytes, length);
              });
          if (failure.is_failure()) return failure;
          digesting.digests.push_back(zero_chunk != nullptr ? zero_chunk->digest : digest.Finish());
        }
        return {};
      },
      [](Napi::Env env, RangesToDigest& digested) { return DigestsResult(env, digested.digests); });
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
  exports.Set("digest", Napi::Function::New<DigestBuffers>(env));
  exports.Set("digestFile", Napi::Function::New<DigestFile>(env));
  exports.Set("compress", Napi::Function::New<CompressBytes>(env));
  exports.Set("decompress", Napi::Function::New<DecompressBytes>(env));
}

}  // namespace runnel
