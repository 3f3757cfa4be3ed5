#include "src/codec/zstd_codec.h"

#include <zstd.h>

#include <memory>
#include <new>

namespace runnel {

namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* CompressionContext() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  return context.get();
}

ZSTD_DCtx* DecompressionContext() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  return context.get();
}

}  // namespace

bool Compress(const uint8_t* bytes, size_t length, int level, std::vector<uint8_t>* output) {
  output->clear();
  if (length < 2) return false;
  // Room for one byte less than the input: zstd stops by itself when the result would not be smaller.
  output->resize(length - 1);
  const size_t size = ZSTD_compressCCtx(CompressionContext(), output->data(), output->size(), bytes, length, level);
  output->resize(ZSTD_isError(size) ? 0 : size);
  output->shrink_to_fit();
  return !output->empty();
}

bool MayHoldRun(const uint8_t* bytes, size_t length, size_t raw_bytes) {
  const size_t frame_bytes = ZSTD_findFrameCompressedSize(bytes, length);
  if (ZSTD_isError(frame_bytes) || frame_bytes != length) return false;
  const unsigned long long stated = ZSTD_getFrameContentSize(bytes, length);
  return stated == raw_bytes || stated == ZSTD_CONTENTSIZE_UNKNOWN;
}

bool Decompress(const uint8_t* bytes, size_t length, uint8_t* output, size_t raw_bytes) {
  if (!MayHoldRun(bytes, length, raw_bytes)) return false;
  const size_t size = ZSTD_decompressDCtx(DecompressionContext(), output, raw_bytes, bytes, length);
  return !ZSTD_isError(size) && size == raw_bytes;
}

}  // namespace runnel
