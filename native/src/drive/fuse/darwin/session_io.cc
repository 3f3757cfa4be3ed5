// macFUSE's kernel side lets lookups of one folder come side by side: nothing is to be added.
#include "src/drive/fuse/kernel_side.h"

namespace runnel::drive {

void SetSessionIo(fuse_session*) {}

}  // namespace runnel::drive
