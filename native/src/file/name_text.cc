#include "name_text.h"

#include <cstddef>
#include <cstdint>

#include "utf8.h"

namespace runnel {

namespace {

// U+F780 to U+F7FF in UTF-8: EF 9E 80 to EF 9E BF for the bytes 80 to BF, EF 9F 80 to EF 9F BF for C0 to FF.
constexpr size_t kStandInBytes = 3;
constexpr uint8_t kStandIn = 0xef;
constexpr uint8_t kStandInLow = 0x9e;
constexpr uint8_t kStandInHigh = 0x9f;

bool IsStandIn(std::string_view bytes, size_t at) {
  if (bytes.size() - at < kStandInBytes || static_cast<uint8_t>(bytes[at]) != kStandIn) return false;
  const uint8_t second = static_cast<uint8_t>(bytes[at + 1]);
  return second == kStandInLow || second == kStandInHigh;
}

void AppendStandIn(uint8_t byte, std::string* text) {
  *text += static_cast<char>(kStandIn);
  *text += static_cast<char>(byte < 0xc0 ? kStandInLow : kStandInHigh);
  *text += static_cast<char>((byte & 0x3f) | 0x80);
}

uint8_t ByteOfStandIn(std::string_view text, size_t at) {
  const uint8_t low = static_cast<uint8_t>(text[at + 2]) & 0x3f;
  return static_cast<uint8_t>((static_cast<uint8_t>(text[at + 1]) == kStandInLow ? 0x80 : 0xc0) | low);
}

}  // namespace

std::string TextOfName(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  for (size_t at = 0; at < name.size();) {
    const size_t length = CharacterLength(name, at);
    if (length != 0 && !IsStandIn(name, at)) {
      text.append(name, at, length);
      at += length;
    } else {
      AppendStandIn(static_cast<uint8_t>(name[at++]), &text);
    }
  }
  return text;
}

std::string NameOfText(std::string_view text) {
  std::string name;
  name.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (IsStandIn(text, at)) {
      name += static_cast<char>(ByteOfStandIn(text, at));
      at += kStandInBytes;
    } else {
      name += text[at++];
    }
  }
  return name;
}

bool IsTextTooLong(std::string_view name) {
  return name.size() > kNameBytesMax / kStandInBytes && TextOfName(name).size() > kNameBytesMax;
}

}  // namespace runnel
