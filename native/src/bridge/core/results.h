// Results that several functions hand to JavaScript. All are copies in memory that JavaScript owns.
#ifndef RUNNEL_BRIDGE_CORE_RESULTS_H_
#define RUNNEL_BRIDGE_CORE_RESULTS_H_

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/chunk/chunk_stream.h"
#include "src/file/stat.h"

namespace runnel {

// A Stat as JavaScript gets it: eleven slots of 8 bytes in the order of stat-record.ts, doubles but for the two times,
// which are 64-bit integers.
inline constexpr size_t kStatSlots = 11;
inline constexpr size_t kStatRecordBytes = 8 * kStatSlots;

void PutStat(const Stat& stat, uint8_t* record);

Napi::ArrayBuffer CopyOf(Napi::Env env, const void* bytes, size_t length);
Napi::ArrayBuffer BytesResult(Napi::Env env, const std::vector<uint8_t>& bytes);
Napi::ArrayBuffer StatResult(Napi::Env env, const Stat& stat);

struct Identity {
  Stat stat;
  std::vector<uint8_t> handle;
};

// The Stat's slots, then the handle.
Napi::ArrayBuffer IdentityResult(Napi::Env env, const Identity& identity);

// { lengths: ArrayBuffer of 32-bit numbers, digests: ArrayBuffer }
Napi::Object ChunksResult(Napi::Env env, const ChunkList& chunks);

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_RESULTS_H_
