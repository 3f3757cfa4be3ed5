// Processors whose vector instructions we do not use.
#include "src/chunk/breakpoint_scan.h"

namespace runnel {

BreakpointScan ScanAvx2() { return nullptr; }
BreakpointScan ScanGfni() { return nullptr; }

}  // namespace runnel
