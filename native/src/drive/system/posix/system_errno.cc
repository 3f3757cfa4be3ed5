// Error numbers that Windows does not have.
#include <cerrno>

#include "src/drive/kinds.h"

namespace runnel::drive {

Kind KindOfSystemErrno(int error) {
  if (error == EDQUOT) return Kind::kQuota;
  return error == ESTALE ? Kind::kStale : Kind::kIo;
}

}  // namespace runnel::drive
