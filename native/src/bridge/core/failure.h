// Failures on their way to JavaScript: an Error with a `code`, which the TypeScript face turns into a RunnelError.
#ifndef RUNNEL_BRIDGE_CORE_FAILURE_H_
#define RUNNEL_BRIDGE_CORE_FAILURE_H_

#include <napi.h>

namespace runnel {

// An errno number or one of our own codes; neither when all went well.
struct Failure {
  // Implicit, so that a function's errno result can be returned as it is.
  Failure(int errno_number = 0) : error_number(errno_number) {}
  explicit Failure(const char* own_code) : code(own_code) {}

  bool is_failure() const { return error_number != 0 || code != nullptr; }

  int error_number = 0;
  const char* code = nullptr;
};

// Codes that no system has; kinds of errors.ts.
inline constexpr const char* kStaleCode = "RUNNEL_STALE";
inline constexpr const char* kCorruptCode = "RUNNEL_CORRUPT";

Napi::Error MakeError(Napi::Env env, const Failure& failure);

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_FAILURE_H_
