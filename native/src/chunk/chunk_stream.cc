#include "src/chunk/chunk_stream.h"

#include <utility>

namespace runnel {

void ChunkStream::Update(const uint8_t* bytes, size_t length) {
  bool is_cut = false;
  while (length != 0) {
    const size_t taken = UpdateToCut(bytes, length, &is_cut);
    bytes += taken;
    length -= taken;
  }
}

size_t ChunkStream::UpdateToCut(const uint8_t* bytes, size_t length, bool* is_cut) {
  const size_t before = chunker_.open_bytes();
  const size_t taken = chunker_.Next(bytes, length, is_cut);
  digest_.Update(bytes, taken);
  if (*is_cut) EndChunk(before + taken);
  return taken;
}

ChunkList ChunkStream::Finish() {
  if (chunker_.open_bytes() != 0) EndChunk(chunker_.open_bytes());
  chunker_ = Chunker();
  return std::exchange(chunks_, {});
}

void ChunkStream::EndChunk(size_t length) {
  chunks_.lengths.push_back(static_cast<uint32_t>(length));
  chunks_.digests.push_back(digest_.Finish());
}

}  // namespace runnel
