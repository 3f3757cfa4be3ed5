// Whether some bytes are UTF-8 (RFC 3629: shortest forms only, no surrogates, up to U+10FFFF).
#ifndef RUNNEL_FILE_UTF8_H_
#define RUNNEL_FILE_UTF8_H_

#include <string_view>

namespace runnel {

bool IsUtf8(std::string_view bytes);

}  // namespace runnel

#endif  // RUNNEL_FILE_UTF8_H_
