#include "scans_x86.h"

#include "breakpoint_scan.h"

namespace runnel {

std::vector<ScanEngine> VectorScans() {
  std::vector<ScanEngine> engines;
  if (HasGfni()) engines.push_back({"gfni", &ScanGfni});
  if (HasAvx2()) engines.push_back({"avx2", &ScanAvx2});
  return engines;
}

}  // namespace runnel
