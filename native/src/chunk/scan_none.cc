// Processors whose vector instructions we do not use.
#include "src/chunk/breakpoint_scan.h"

namespace runnel {

std::vector<ScanEngine> VectorScans() { return {}; }

}  // namespace runnel
