// Seals bytes so that only programs of this user on this machine can open them, with a key that the system keeps. A
// folder for each system has the one function file; where a system has no such key, the stub refuses.
#ifndef RUNNEL_SECRET_SEAL_H_
#define RUNNEL_SECRET_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel {

// Both block for as long as the system takes, may be called from any thread, and show no window. They return an errno:
// EOPNOTSUPP where the system has no such key, EACCES where it does not give it out.
int SealSecret(const uint8_t* bytes, size_t length, std::vector<uint8_t>* sealed);

// EINVAL for bytes that are not whole, or that were sealed for another user or on another machine.
int OpenSecret(const uint8_t* sealed, size_t length, std::vector<uint8_t>* bytes);

}  // namespace runnel

#endif  // RUNNEL_SECRET_SEAL_H_
