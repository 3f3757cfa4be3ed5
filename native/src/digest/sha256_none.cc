// Takes the place of sha256_x86.cc on other processors.
#include "src/digest/sha256.h"

namespace runnel {

Sha256Engine Sha256Instructions() { return nullptr; }

}  // namespace runnel
