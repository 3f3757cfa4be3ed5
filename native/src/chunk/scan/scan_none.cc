// Processors whose vector instructions we do not use.
#include "breakpoint_scan.h"

namespace runnel {

std::vector<ScanEngine> VectorScans() { return {}; }

}  // namespace runnel
