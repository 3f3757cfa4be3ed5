// Names the system's current boot.
#ifndef RUNNEL_FILE_BOOT_H_
#define RUNNEL_FILE_BOOT_H_

#include <string>

namespace runnel {

// The same for all processes until the system starts anew, and then never again; empty where the system does not say.
// What a killed process wrote into files is still there in the same boot, after another one perhaps not.
std::string SystemBoot();

}  // namespace runnel

#endif  // RUNNEL_FILE_BOOT_H_
