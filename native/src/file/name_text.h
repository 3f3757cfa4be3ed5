// Names as text. What Linux calls a name is bytes, which need not be UTF-8; a name of a volume is text, which is. A
// byte that is no part of UTF-8 (0x80 to 0xff) is the private-use character U+F780 to U+F7FF in the text, as is each
// byte of such a character itself: every name has exactly one text, and that text leads back to the same bytes. Texts
// that no name has are refused by whoever takes them from outside (shared/src/model/names.ts).
#ifndef RUNNEL_FILE_NAME_TEXT_H_
#define RUNNEL_FILE_NAME_TEXT_H_

#include <string>
#include <string_view>

namespace runnel {

constexpr size_t kNameBytesMax = 255;

// Converts a name, a path, or a symlink's target to text, and back.
std::string TextOfName(std::string_view name);
std::string NameOfText(std::string_view text);

// Returns whether the text is longer than a volume has room for: characters that stand for bytes take three.
bool IsTextTooLong(std::string_view name);

}  // namespace runnel

#endif  // RUNNEL_FILE_NAME_TEXT_H_
