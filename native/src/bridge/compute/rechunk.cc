// Re-chunking of an edited content: as a job that reads the pieces of the content by itself, and as an object that is
// given the bytes.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/bridge/disk/read.h"
#include "src/chunk/rechunk.h"
#include "src/file/file.h"

namespace runnel {

namespace {

// [offset, offset + length) of a file; zeros when there is none.
struct Piece {
  int fd;
  uint64_t offset;
  uint64_t length;
};

std::vector<Piece> PiecesArgument(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i + 2 < array.Length(); i += 3) {
    pieces.push_back({array.Get(i).As<Napi::Number>().Int32Value(),
                      static_cast<uint64_t>(array.Get(i + 1).As<Napi::Number>().Int64Value()),
                      static_cast<uint64_t>(array.Get(i + 2).As<Napi::Number>().Int64Value())});
  }
  return pieces;
}

std::vector<uint32_t> LengthsArgument(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint32Array>();
  return std::vector<uint32_t>(array.Data(), array.Data() + array.ElementLength());
}

std::vector<ContentRange> RangesArgument(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<ContentRange> ranges;
  for (uint32_t i = 0; i + 1 < array.Length(); i += 2) {
    ranges.push_back({static_cast<uint64_t>(array.Get(i).As<Napi::Number>().Int64Value()),
                      static_cast<uint64_t>(array.Get(i + 1).As<Napi::Number>().Int64Value())});
  }
  return ranges;
}

Napi::Value RechunkResultOf(Napi::Env env, const RechunkResult& rechunked) {
  Napi::Object result = ChunksResult(env, rechunked.fresh);
  result.Set("spans", CopyOf(env, rechunked.spans.data(), rechunked.spans.size() * sizeof(RecipeSpan)));
  result.Set("bytesRead", Napi::Number::New(env, static_cast<double>(rechunked.bytes_read)));
  return result;
}

// A content that lies in pieces, read in order of offset.
class PieceReader {
 public:
  explicit PieceReader(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  // `range` begins at or after the beginning of the one before it, which may have been read past what was taken of it.
  Failure Read(const ContentRange& range, uint8_t* into) {
    uint64_t at = range.offset;
    const uint64_t end = range.offset + range.length;
    while (at < end) {
      const uint64_t within = Within(at);
      const Piece& piece = pieces_[piece_];
      const size_t length = static_cast<size_t>(std::min(end - at, piece.length - within));
      if (piece.fd < 0) {
        std::memset(into, 0, length);
      } else {
        const Failure failure = ReadInto(piece.fd, piece.offset + within, length, into);
        if (failure.is_failure()) return failure;
      }
      into += length;
      at += length;
    }
    return {};
  }

  // Returns how many zeros lie in a hole from there on.
  uint64_t ZerosAt(uint64_t offset) {
    const uint64_t within = Within(offset);
    const Piece& piece = pieces_[piece_];
    if (piece.fd < 0) return piece.length - within;
    const Extent extent = ExtentAt(piece.fd, piece.offset + within, piece.length - within);
    return extent.is_hole ? extent.length : 0;
  }

 private:
  // Goes to the piece that has this byte. Returns where in it.
  uint64_t Within(uint64_t at) {
    while (at < piece_start_) piece_start_ -= pieces_[--piece_].length;
    while (at >= piece_start_ + pieces_[piece_].length) piece_start_ += pieces_[piece_++].length;
    return at - piece_start_;
  }

  const std::vector<Piece> pieces_;
  size_t piece_ = 0;
  uint64_t piece_start_ = 0;
};

struct ContentToRechunk {
  const ChunkPreset* preset;
  std::vector<Piece> pieces;
  std::vector<uint32_t> base_lengths;
  std::vector<ContentRange> dirty;
  RechunkResult result;
};

Failure RechunkContent(ContentToRechunk& job) {
  uint64_t size = 0;
  for (const Piece& piece : job.pieces) size += piece.length;
  Rechunk rechunk(*job.preset, job.base_lengths, std::move(job.dirty), size);
  PieceReader reader(std::move(job.pieces));
  std::vector<uint8_t> buffer;
  for (ContentRange range; rechunk.Next(&range);) {
    if (rechunk.TakeZeros(reader.ZerosAt(range.offset)) != 0) continue;
    buffer.resize(static_cast<size_t>(range.length));
    const Failure failure = reader.Read(range, buffer.data());
    if (failure.is_failure()) return failure;
    rechunk.Take(buffer.data(), buffer.size());
  }
  job.result = rechunk.Finish();
  return {};
}

Napi::Value RechunkPieces(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kCompute,
      ContentToRechunk{
          &PresetArgument(info, 3), PiecesArgument(info[0]), LengthsArgument(info[1]), RangesArgument(info[2]), {}},
      {}, RechunkContent,
      [](Napi::Env env, ContentToRechunk& job) -> Napi::Value { return RechunkResultOf(env, job.result); });
}

class RechunkObject : public Napi::ObjectWrap<RechunkObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Rechunk",
                       {InstanceMethod<&RechunkObject::Next>("next"), InstanceMethod<&RechunkObject::Take>("take"),
                        InstanceMethod<&RechunkObject::Finish>("finish")});
  }

  explicit RechunkObject(const Napi::CallbackInfo& info)
      : ObjectWrap(info),
        rechunk_(PresetArgument(info, 3), LengthsArgument(info[0]), RangesArgument(info[1]), SizeArgument(info, 2)) {}

 private:
  Napi::Value Next(const Napi::CallbackInfo& info) {
    ContentRange range;
    if (!rechunk_.Next(&range)) return info.Env().Undefined();
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("offset", Napi::Number::New(info.Env(), static_cast<double>(range.offset)));
    result.Set("length", Napi::Number::New(info.Env(), static_cast<double>(range.length)));
    return result;
  }

  void Take(const Napi::CallbackInfo& info) {
    const Bytes bytes = BytesOf(info[0]);
    rechunk_.Take(bytes.data, bytes.length);
  }

  Napi::Value Finish(const Napi::CallbackInfo& info) { return RechunkResultOf(info.Env(), rechunk_.Finish()); }

  Rechunk rechunk_;
};

}  // namespace

void ExportRechunk(Napi::Env env, Napi::Object exports) {
  exports.Set("rechunk", Napi::Function::New<RechunkPieces>(env));
  exports.Set("Rechunk", RechunkObject::Define(env));
}

}  // namespace runnel
