// Windows has no drive yet but the one without a kernel.
#include "../../kernel_front.h"

namespace runnel::drive {

std::unique_ptr<KernelFront> MakeKernelFront(KernelFront::Settings, CoreSettings, std::function<void()>) { return nullptr; }

}  // namespace runnel::drive
