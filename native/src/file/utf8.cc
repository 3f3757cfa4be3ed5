#include "utf8.h"

#include <cstddef>
#include <cstdint>

namespace runnel {

namespace {

struct Lead {
  size_t more;       // continuation bytes that follow
  uint8_t next_min;  // bounds of the first of them, which rule out long forms and surrogates
  uint8_t next_max;
};

bool ReadLead(uint8_t byte, Lead* lead) {
  if (byte >= 0xc2 && byte <= 0xdf) {
    *lead = {1, 0x80, 0xbf};
  } else if (byte >= 0xe0 && byte <= 0xef) {
    *lead = {2, static_cast<uint8_t>(byte == 0xe0 ? 0xa0 : 0x80), static_cast<uint8_t>(byte == 0xed ? 0x9f : 0xbf)};
  } else if (byte >= 0xf0 && byte <= 0xf4) {
    *lead = {3, static_cast<uint8_t>(byte == 0xf0 ? 0x90 : 0x80), static_cast<uint8_t>(byte == 0xf4 ? 0x8f : 0xbf)};
  } else {
    return false;
  }
  return true;
}

}  // namespace

size_t CharacterLength(std::string_view bytes, size_t at) {
  const uint8_t first = static_cast<uint8_t>(bytes[at]);
  if (first < 0x80) return 1;
  Lead lead;
  if (!ReadLead(first, &lead) || bytes.size() - at <= lead.more) return 0;
  for (size_t i = 1; i <= lead.more; ++i) {
    const uint8_t next = static_cast<uint8_t>(bytes[at + i]);
    if (next < lead.next_min || next > lead.next_max) return 0;
    lead.next_min = 0x80;
    lead.next_max = 0xbf;
  }
  return lead.more + 1;
}

bool IsUtf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = CharacterLength(bytes, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace runnel
