#include "src/secret/seal.h"

#include <cerrno>

namespace runnel {

int SealSecret(const uint8_t*, size_t, std::vector<uint8_t>*) { return EOPNOTSUPP; }

int OpenSecret(const uint8_t*, size_t, std::vector<uint8_t>*) { return EOPNOTSUPP; }

}  // namespace runnel
