/* What __builtin_cpu_init and __builtin_cpu_supports of x86 compilers look at. libgcc and LLVM's compiler-rt have it,
   zig's own runtime has not. Only the features that our sources ask for. Names and bit numbers are those of libgcc's
   config/i386/cpuinfo.h, which compilers count on. */
#include <cpuid.h>
#include <stdint.h>

enum { kAvx2 = 10, kAvx512F = 15, kAvx512Vl = 20, kAvx512Bw = 21, kGfni = 32 };

struct {
  uint32_t vendor;
  uint32_t type;
  uint32_t subtype;
  uint32_t features[1];
} __cpu_model;
uint32_t __cpu_features2[3];

/* Which registers the system saves, XCR0: SSE and AVX; those and AVX-512's three. */
enum { kSavesAvx = 0x6, kSavesAvx512 = 0xe6 };

static uint32_t SavedRegisters(void) {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static void SetFeature(int number) {
  if (number < 32) {
    __cpu_model.features[0] |= UINT32_C(1) << number;
  } else {
    __cpu_features2[number / 32 - 1] |= UINT32_C(1) << number % 32;
  }
}

int __cpu_indicator_init(void) {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return -1;
  const uint32_t saved = (ecx & bit_OSXSAVE) != 0 ? SavedRegisters() : 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return 0;
  if ((saved & kSavesAvx) == kSavesAvx && (ebx & bit_AVX2) != 0) SetFeature(kAvx2);
  if ((ecx & bit_GFNI) != 0) SetFeature(kGfni);
  if ((saved & kSavesAvx512) != kSavesAvx512) return 0;
  if ((ebx & bit_AVX512F) != 0) SetFeature(kAvx512F);
  if ((ebx & bit_AVX512VL) != 0) SetFeature(kAvx512Vl);
  if ((ebx & bit_AVX512BW) != 0) SetFeature(kAvx512Bw);
  return 0;
}
