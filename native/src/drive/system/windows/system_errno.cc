// Windows has no error numbers of its own: those are what src/file answers.
#include "src/drive/kinds.h"

namespace runnel::drive {

Kind KindOfSystemErrno(int) { return Kind::kIo; }

}  // namespace runnel::drive
