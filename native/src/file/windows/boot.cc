#include "src/file/boot.h"

#include "calls.h"

namespace runnel {
namespace {

// The page that Windows shows to every process, and in it the number of this boot (ntddk.h, KUSER_SHARED_DATA).
constexpr uintptr_t kSharedPage = 0x7ffe0000;
constexpr uintptr_t kBootIdAt = 0x2c4;

// Time of the boot, which moves with the clock when that is set (winternl.h, SYSTEM_TIMEOFDAY_INFORMATION).
struct TimeOfDay {
  LARGE_INTEGER boot_time;
  BYTE rest[40];
};

}  // namespace

std::string SystemBoot() {
  const uint32_t number = *reinterpret_cast<const volatile uint32_t*>(kSharedPage + kBootIdAt);
  if (number != 0) return "boot " + std::to_string(number);
  // Wine counts no boots.
  TimeOfDay time = {};
  if (NtQuerySystemInformation(SystemTimeOfDayInformation, &time, sizeof(time), nullptr) < 0) return "";
  return "booted at " + std::to_string(time.boot_time.QuadPart);
}

}  // namespace runnel
