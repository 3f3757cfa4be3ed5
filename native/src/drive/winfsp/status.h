// The drive's error numbers, which are those of Linux, as what Windows answers a program.
#ifndef RUNNEL_DRIVE_WINFSP_STATUS_H_
#define RUNNEL_DRIVE_WINFSP_STATUS_H_

#include "winfsp_api.h"

namespace runnel::drive {

NTSTATUS StatusOf(int error);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_STATUS_H_
