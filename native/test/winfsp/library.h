// Shared by the library's functions and the driver: the context of the operation that a thread is in.
#ifndef RUNNEL_TEST_WINFSP_LIBRARY_H_
#define RUNNEL_TEST_WINFSP_LIBRARY_H_

#include "driver.h"

namespace runnel::test {

void SetOperationContext(FSP_FSCTL_TRANSACT_REQ* request, FSP_FSCTL_TRANSACT_RSP* response);

// Reads a directory's buffer, up to its end or its mark of the end. `is_whole`: the mark was there.
void ReadDirBuffer(const void* buffer, ULONG size, std::vector<Listed>* names, uint64_t* next_offset, bool* is_whole);

}  // namespace runnel::test

#endif  // RUNNEL_TEST_WINFSP_LIBRARY_H_
