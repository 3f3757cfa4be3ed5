// Jobs that digest: buffers, and ranges of a file.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/bridge/disk/read.h"
#include "src/chunk/zero_chunk.h"
#include "src/digest/sha256_batch.h"
#include "src/file/file.h"
#include "src/file/name_text.h"
#include "src/file/root.h"

namespace runnel {

namespace {

// Digests each buffer; those of chunks of zeros are known.
std::vector<Digest> DigestsOf(const std::vector<Bytes>& buffers, std::span<const Sha256Engine> engines) {
  std::vector<Digest> digests;
  std::vector<DigestPiece> pieces;
  std::vector<size_t> places;
  for (const Bytes& bytes : buffers) {
    const ZeroChunk* zero_chunk = IsZeroChunk(bytes.data, bytes.length);
    if (zero_chunk == nullptr) {
      pieces.push_back({Sha256(), bytes.data, bytes.length, true});
      places.push_back(digests.size());
    }
    digests.push_back(zero_chunk == nullptr ? Digest{} : zero_chunk->digest);
  }
  DigestAll(pieces, engines);
  for (size_t i = 0; i < pieces.size(); ++i) digests[places[i]] = pieces[i].digest;
  return digests;
}

struct BuffersToDigest {
  std::vector<Bytes> buffers;
  std::span<const Sha256Engine> engines;
  std::vector<Digest> digests;
};

Napi::Value DigestsResult(Napi::Env env, const std::vector<Digest>& digests) {
  return CopyOf(env, digests.data(), digests.size() * kDigestBytes);
}

Napi::Value DigestBuffers(const Napi::CallbackInfo& info) {
  const auto array = info[0].As<Napi::Array>();
  BuffersToDigest job = {{}, Sha256Argument(info, 1), {}};
  for (uint32_t i = 0; i < array.Length(); ++i) job.buffers.push_back(BytesOf(array.Get(i)));
  return StartJob(
      info.Env(), Lane::kCompute, std::move(job), {array},
      [](BuffersToDigest& digesting) -> Failure {
        digesting.digests = DigestsOf(digesting.buffers, digesting.engines);
        return {};
      },
      [](Napi::Env env, BuffersToDigest& digested) { return DigestsResult(env, digested.digests); });
}

struct FileRange {
  uint64_t offset;
  uint64_t length;
};

struct RangesToDigest {
  int fd;
  std::vector<FileRange> ranges;
  std::vector<Digest> digests;
};

// Reads these ranges into `buffer`, one after another; those that lie so in the file too at once.
Failure ReadTogether(int fd, const FileRange* first, const FileRange* last, uint8_t* buffer) {
  while (first != last) {
    FileRange whole = *first;
    while (++first != last && first->offset == whole.offset + whole.length) whole.length += first->length;
    const Failure failure = ReadInto(fd, whole.offset, whole.length, buffer);
    if (failure.is_failure()) return failure;
    buffer += whole.length;
  }
  return {};
}

Failure DigestTogether(int fd, const FileRange* first, const FileRange* last, std::vector<uint8_t>& buffer,
                       std::vector<Digest>* digests) {
  const Failure failure = ReadTogether(fd, first, last, buffer.data());
  if (failure.is_failure()) return failure;
  std::vector<Bytes> ranges;
  uint8_t* bytes = buffer.data();
  for (; first != last; bytes += first++->length) ranges.push_back({bytes, static_cast<size_t>(first->length)});
  const std::vector<Digest> found = DigestsOf(ranges, Sha256Engines());
  digests->insert(digests->end(), found.begin(), found.end());
  return {};
}

Failure DigestLarge(int fd, const FileRange& range, std::vector<Digest>* digests) {
  Sha256 digest;
  const auto take = [&](const uint8_t* bytes, size_t length) { digest.Update(bytes, length); };
  const Failure failure = ReadRange(fd, range.offset, range.length, take, [&](uint64_t length) {
    for (uint64_t done = 0; done < length; done += Zeros().size())
      take(Zeros().data(), static_cast<size_t>(std::min<uint64_t>(length - done, Zeros().size())));
  });
  digests->push_back(digest.Finish());
  return failure;
}

Failure DigestRanges(RangesToDigest& job) {
  std::vector<uint8_t> buffer;
  const FileRange* const end = job.ranges.data() + job.ranges.size();
  for (const FileRange* first = job.ranges.data(); first != end;) {
    const FileRange* last = first;
    uint64_t length = 0;
    while (last != end && last->length <= kReadStepBytes - length) length += last++->length;
    if (length > buffer.size()) buffer.resize(static_cast<size_t>(length));
    const Failure failure = first == last ? DigestLarge(job.fd, *last++, &job.digests)
                                          : DigestTogether(job.fd, first, last, buffer, &job.digests);
    if (failure.is_failure()) return failure;
    first = last;
  }
  return {};
}

// Offsets and lengths, one after another.
std::vector<FileRange> RangesOf(const Napi::Array& array) {
  const auto number = [&](uint32_t at) {
    return static_cast<uint64_t>(std::max<int64_t>(array.Get(at).As<Napi::Number>().Int64Value(), 0));
  };
  std::vector<FileRange> ranges;
  for (uint32_t i = 0; i + 1 < array.Length(); i += 2) ranges.push_back({number(i), number(i + 1)});
  return ranges;
}

Napi::Value DigestFile(const Napi::CallbackInfo& info) {
  RangesToDigest job = {IntArgument(info, 0), RangesOf(info[1].As<Napi::Array>()), {}};
  return StartJob(info.Env(), Lane::kCompute, std::move(job), {}, DigestRanges,
                  [](Napi::Env env, RangesToDigest& digested) { return DigestsResult(env, digested.digests); });
}

struct FileToDigest {
  std::string path;
  std::vector<FileRange> ranges;
  bool is_whole = false;  // it is there, with all of the ranges
  std::vector<Digest> digests;
};

// Syncs a file, if it is to be, before it digests its ranges.
Failure DigestOne(int root, bool is_synced, FileToDigest* file) {
  Descriptor descriptor;
  const OpenMode mode = is_synced ? OpenMode::kWrite : OpenMode::kRead;
  int error = OpenFile(root, file->path, mode, 0, &descriptor);
  if (error == ENOENT) return {};
  if (error == 0 && is_synced) error = Sync(descriptor.get(), true);
  if (error != 0) return error;
  RangesToDigest digesting = {descriptor.get(), std::move(file->ranges), {}};
  const Failure failure = DigestRanges(digesting);
  if (failure.code == kStaleCode) return {};
  file->is_whole = !failure.is_failure();
  file->digests = std::move(digesting.digests);
  return failure;
}

// Packs an array of digests a file, null for one that is not there, or not all of it.
Napi::Value FilesResult(Napi::Env env, const std::vector<FileToDigest>& files) {
  const auto result = Napi::Array::New(env, files.size());
  for (uint32_t i = 0; i < files.size(); ++i)
    result.Set(i, files[i].is_whole ? DigestsResult(env, files[i].digests) : env.Null());
  return result;
}

// Files below a root, by path: arguments root, paths, an array of ranges for each, and whether they are synced.
Napi::Value DigestFilesAt(const Napi::CallbackInfo& info) {
  const int root = IntArgument(info, 0);
  const auto paths = info[1].As<Napi::Array>();
  const auto ranges = info[2].As<Napi::Array>();
  const bool is_synced = info[3].As<Napi::Boolean>();
  std::vector<FileToDigest> files;
  for (uint32_t i = 0; i < paths.Length(); ++i)
    files.push_back({NameOfText(paths.Get(i).As<Napi::String>().Utf8Value()),
                     RangesOf(ranges.Get(i).As<Napi::Array>()),
                     false,
                     {}});
  return StartJob(
      info.Env(), is_synced ? Lane::kSync : Lane::kCompute, std::move(files), {},
      [root, is_synced](std::vector<FileToDigest>& digesting) -> Failure {
        for (FileToDigest& file : digesting)
          if (const Failure failure = DigestOne(root, is_synced, &file); failure.is_failure()) return failure;
        return {};
      },
      [](Napi::Env env, std::vector<FileToDigest>& digested) { return FilesResult(env, digested); });
}

}  // namespace

void ExportDigest(Napi::Env env, Napi::Object exports) {
  exports.Set("digest", Napi::Function::New<DigestBuffers>(env));
  exports.Set("digestFile", Napi::Function::New<DigestFile>(env));
  exports.Set("digestFilesAt", Napi::Function::New<DigestFilesAt>(env));
}

}  // namespace runnel
