// Any bytes as a compressed run and its prefix: refused, or unfolded within the memory that was taken for it. Any
// bytes, packed, unfold to themselves.
#include <cstdlib>
#include <vector>

#include "src/codec/zstd_codec.h"

using runnel::ByteView;

namespace {

constexpr size_t kRawBytesMax = 256 * 1024;

void Must(bool is_so) {
  if (!is_so) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const size_t raw_bytes = (data[0] << 16 | data[1] << 8 | data[2]) % kRawBytesMax;
  const size_t prefix_bytes = static_cast<size_t>(data[3]) * (size - 5) / 255;
  const int level = 1 + data[4] % 3;
  // Memory of exactly these lengths: a byte read past one is noticed.
  const std::vector<uint8_t> prefix(data + 5, data + 5 + prefix_bytes);
  const std::vector<uint8_t> bytes(data + 5 + prefix_bytes, data + size);
  const ByteView prefix_view = {prefix.data(), prefix.size()};
  const ByteView bytes_view = {bytes.data(), bytes.size()};
  std::vector<uint8_t> unfolded(raw_bytes);
  if (runnel::MayHoldRun(bytes_view, raw_bytes)) {
    (void)runnel::Decompress(bytes_view, prefix_view, unfolded.data(), unfolded.size());
  }
  std::vector<uint8_t> packed;
  if (!runnel::Compress(bytes_view, prefix_view, level, &packed)) return 0;
  unfolded.resize(bytes.size());
  Must(packed.size() < bytes.size());
  Must(runnel::Decompress({packed.data(), packed.size()}, prefix_view, unfolded.data(), unfolded.size()));
  Must(unfolded == bytes);
  return 0;
}
