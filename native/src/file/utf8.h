// Recognizes UTF-8 (RFC 3629: shortest forms only, no surrogates, up to U+10FFFF).
#ifndef RUNNEL_FILE_UTF8_H_
#define RUNNEL_FILE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace runnel {

// Returns the length in bytes of the character that begins there; 0 where none does.
size_t CharacterLength(std::string_view bytes, size_t at);

bool IsUtf8(std::string_view bytes);

}  // namespace runnel

#endif  // RUNNEL_FILE_UTF8_H_
