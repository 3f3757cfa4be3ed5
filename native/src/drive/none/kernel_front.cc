// No kernel's drive: for an addon that serves drives only, where libfuse is not installed (nfs/ beside this folder).
#include "src/drive/kernel_front.h"

namespace runnel::drive {

std::unique_ptr<KernelFront> MakeKernelFront(KernelFront::Settings, CoreSettings, std::function<void()>) {
  return nullptr;
}

}  // namespace runnel::drive
