// The scans with vector instructions of x86.
#ifndef RUNNEL_CHUNK_SCAN_SCANS_X86_H_
#define RUNNEL_CHUNK_SCAN_SCANS_X86_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

bool HasAvx2();
void ScanAvx2(const uint8_t* bytes, size_t length, uint64_t* bits);

// AVX-512 and GFNI.
bool HasGfni();
void ScanGfni(const uint8_t* bytes, size_t length, uint64_t* bits);

}  // namespace runnel

#endif  // RUNNEL_CHUNK_SCAN_SCANS_X86_H_
