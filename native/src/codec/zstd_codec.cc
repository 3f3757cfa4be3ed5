#include "zstd_codec.h"

#define ZSTD_STATIC_LINKING_ONLY  // refPrefix and the limits of the window
#include <zstd.h>

#include <algorithm>
#include <bit>
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

int WindowLog(size_t length) { return std::max(ZSTD_WINDOWLOG_MIN, static_cast<int>(std::bit_width(length))); }

}  // namespace

bool Compress(ByteView bytes, ByteView prefix, int level, std::vector<uint8_t>* output) {
  output->clear();
  if (bytes.length < 2) return false;
  ZSTD_CCtx* context = CompressionContext();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  if (prefix.length != 0) {
    // The window must reach back over the whole prefix.
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WindowLog(prefix.length + bytes.length));
    // With another prefix the result must be refused, not be other bytes.
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_refPrefix(context, prefix.data, prefix.length);
  }
  // Room for one byte less than the input: zstd stops by itself when the result would not be smaller.
  output->resize(bytes.length - 1);
  const size_t size = ZSTD_compress2(context, output->data(), output->size(), bytes.data, bytes.length);
  output->resize(ZSTD_isError(size) ? 0 : size);
  output->shrink_to_fit();
  return !output->empty();
}

bool MayHoldRun(ByteView bytes, size_t raw_bytes) {
  const size_t frame_bytes = ZSTD_findFrameCompressedSize(bytes.data, bytes.length);
  if (ZSTD_isError(frame_bytes) || frame_bytes != bytes.length) return false;
  const unsigned long long stated = ZSTD_getFrameContentSize(bytes.data, bytes.length);
  return stated == raw_bytes || stated == ZSTD_CONTENTSIZE_UNKNOWN;
}

bool Decompress(ByteView bytes, ByteView prefix, uint8_t* output, size_t raw_bytes) {
  if (!MayHoldRun(bytes, raw_bytes)) return false;
  ZSTD_DCtx* context = DecompressionContext();
  ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters);
  if (prefix.length != 0) ZSTD_DCtx_refPrefix(context, prefix.data, prefix.length);
  const size_t size = ZSTD_decompressDCtx(context, output, raw_bytes, bytes.data, bytes.length);
  return !ZSTD_isError(size) && size == raw_bytes;
}

}  // namespace runnel
