// The answer of Windows to a program for each kind of failure.
#ifndef RUNNEL_DRIVE_WINFSP_NT_STATUS_H_
#define RUNNEL_DRIVE_WINFSP_NT_STATUS_H_

#include "src/drive/kinds.h"
#include "winfsp_api.h"

namespace runnel::drive {

NTSTATUS ToNtStatus(Kind kind);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_NT_STATUS_H_
