// Arguments of the addon's functions. The TypeScript face has checked ranges; a wrong type is a programmer's error and
// throws.
#ifndef RUNNEL_BRIDGE_CORE_ARGUMENTS_H_
#define RUNNEL_BRIDGE_CORE_ARGUMENTS_H_

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/chunk/chunk_preset.h"
#include "src/codec/zstd_codec.h"
#include "src/digest/sha256.h"
#include "src/file/stat.h"

namespace runnel {

// Bytes of a Uint8Array; the array must be kept while they are used.
struct Bytes {
  uint8_t* data = nullptr;
  size_t length = 0;
};

int32_t IntArgument(const Napi::CallbackInfo& info, size_t at);
// A whole number from 0 to 2^53.
uint64_t SizeArgument(const Napi::CallbackInfo& info, size_t at);
std::string TextArgument(const Napi::CallbackInfo& info, size_t at);
// The bytes that a path beneath a root, or a symlink's target, is for the system.
std::string PathArgument(const Napi::CallbackInfo& info, size_t at);
// A path beneath a root: the first two arguments.
struct PathBeneath {
  int root;
  std::string path;
};
PathBeneath PathArguments(const Napi::CallbackInfo& info);
uint32_t ModeArgument(const Napi::CallbackInfo& info, size_t at);
Bytes BytesOf(const Napi::Value& value);
inline ByteView ViewOf(const Bytes& bytes) { return {bytes.data, bytes.length}; }

// The number of a preset; undefined is the first.
const ChunkPreset& PresetArgument(const Napi::CallbackInfo& info, size_t at);

// All of Sha256Engines() for undefined, else the one of that name.
std::span<const Sha256Engine> Sha256Argument(const Napi::CallbackInfo& info, size_t at);

// Four arguments from `at` on: mode, uid, gid (numbers), mtimeNs (bigint); each may be undefined.
StatChange StatChangeArguments(const Napi::CallbackInfo& info, size_t at);

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_ARGUMENTS_H_
