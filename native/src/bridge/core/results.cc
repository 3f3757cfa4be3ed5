#include "results.h"

#include <bit>
#include <cstring>

namespace runnel {

namespace {

uint8_t* PutTime(int64_t value, uint8_t* to) {
  std::memcpy(to, &value, sizeof(value));
  return to + sizeof(value);
}

uint8_t* PutNumber(double value, uint8_t* to) { return PutTime(std::bit_cast<int64_t>(value), to); }

}  // namespace

void PutStat(const Stat& stat, uint8_t* record) {
  uint8_t* to = PutNumber(static_cast<int>(stat.type), record);
  to = PutNumber(stat.mode, to);
  to = PutNumber(stat.uid, to);
  to = PutNumber(stat.gid, to);
  to = PutNumber(static_cast<double>(stat.size_bytes), to);
  to = PutTime(stat.mtime_ns, to);
  to = PutTime(stat.ctime_ns, to);
  to = PutNumber(static_cast<double>(stat.dev), to);
  to = PutNumber(static_cast<double>(stat.ino), to);
  to = PutNumber(stat.nlink, to);
  PutNumber(static_cast<double>(stat.rdev), to);
}

Napi::ArrayBuffer CopyOf(Napi::Env env, const void* bytes, size_t length) {
  Napi::ArrayBuffer copy = Napi::ArrayBuffer::New(env, length);
  if (length != 0) std::memcpy(copy.Data(), bytes, length);
  return copy;
}

Napi::ArrayBuffer BytesResult(Napi::Env env, const std::vector<uint8_t>& bytes) {
  return CopyOf(env, bytes.data(), bytes.size());
}

Napi::ArrayBuffer StatResult(Napi::Env env, const Stat& stat) {
  Napi::ArrayBuffer record = Napi::ArrayBuffer::New(env, kStatRecordBytes);
  PutStat(stat, static_cast<uint8_t*>(record.Data()));
  return record;
}

Napi::ArrayBuffer IdentityResult(Napi::Env env, const Identity& identity) {
  const std::vector<uint8_t>& handle = identity.handle;
  Napi::ArrayBuffer record = Napi::ArrayBuffer::New(env, kStatRecordBytes + handle.size());
  uint8_t* to = static_cast<uint8_t*>(record.Data());
  PutStat(identity.stat, to);
  if (!handle.empty()) std::memcpy(to + kStatRecordBytes, handle.data(), handle.size());
  return record;
}

Napi::Object ChunksResult(Napi::Env env, const ChunkList& chunks) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("lengths", CopyOf(env, chunks.lengths.data(), chunks.lengths.size() * sizeof(uint32_t)));
  result.Set("digests", CopyOf(env, chunks.digests.data(), chunks.digests.size() * kDigestBytes));
  return result;
}

}  // namespace runnel
