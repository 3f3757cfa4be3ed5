// JavaScript values to the drive's types and back. Ids are numbers below 2^53 (aliases, in the memory drive, from there
// on), times BigInt.
#ifndef RUNNEL_BRIDGE_DRIVE_CONVERT_H_
#define RUNNEL_BRIDGE_DRIVE_CONVERT_H_

#include <napi.h>

#include <string>
#include <vector>

#include "src/drive/core/drive_core.h"

namespace runnel::bridge {

// Entries come packed (drive.ts packs them): ten numbers, two times, two strings each.
struct PackedEntries {
  struct Item {
    uint64_t folder = 0;
    std::string name;
    bool is_absent = false;
    drive::Entry entry;
  };
  std::vector<Item> items;
};
// @throws Napi::Error when the lengths do not agree.
PackedEntries Unpack(const Napi::Value& numbers, const Napi::Value& times, const Napi::Value& strings, uint32_t count);

// Pairs of offset and length.
std::vector<drive::ByteRange> RangesOf(const Napi::Value& pairs);
uint64_t IdOf(const Napi::Value& value);

Napi::Object ToObject(Napi::Env env, const drive::Message& message);
Napi::Object ToObject(Napi::Env env, const drive::Notice& notice);
Napi::Object ToObject(Napi::Env env, const drive::Statistics& statistics);

}  // namespace runnel::bridge

#endif  // RUNNEL_BRIDGE_DRIVE_CONVERT_H_
