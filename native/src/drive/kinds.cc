#include "kinds.h"

#include <algorithm>
#include <iterator>

namespace runnel::drive {
namespace {

constexpr std::string_view kNames[] = {
    "",          "NotFound",    "Unknown",     "Stale",          "Gone",        "Exists",      "NotEmpty",
    "NoSpace",   "Quota",       "Denied",      "Revoked",        "TooLarge",    "BadName",     "Busy",
    "Corrupt",   "Epoch",       "Version",     "Invalid",        "Unreachable", "Interrupted", "ReadOnly",
    "NotFolder", "IsFolder",    "Unsupported", "Unavailable",    "Lost",        "Io",          "NameTooLong",
    "LinkLoop",  "NoAttribute", "PastEnd",     "BufferTooSmall", "TooManyOpen",
};
static_assert(std::size(kNames) == static_cast<size_t>(Kind::kCount));

}  // namespace

std::string_view NameOf(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

Kind KindNamed(std::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? Kind::kIo : static_cast<Kind>(found - kNames);
}

}  // namespace runnel::drive
