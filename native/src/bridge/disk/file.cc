// Jobs on open files.
#include "src/file/file.h"
#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/boot.h"
#include "src/file/descriptor.h"

namespace runnel {

namespace {

Napi::Value Read(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, size_t{0}, {info[2].As<Napi::Object>()},
      [fd = IntArgument(info, 0), offset = SizeArgument(info, 1), bytes = BytesOf(info[2])](size_t& count) {
        return ReadAt(fd, offset, bytes.data, bytes.length, &count);
      },
      NumberResult<size_t>);
}

Napi::Value Write(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {info[2].As<Napi::Object>()},
                  [fd = IntArgument(info, 0), offset = SizeArgument(info, 1), bytes = BytesOf(info[2])] {
                    return WriteAt(fd, offset, bytes.data, bytes.length);
                  });
}

Napi::Value CopyBetween(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kSync, uint64_t{0}, {},
      [from = IntArgument(info, 0), from_offset = SizeArgument(info, 1), to = IntArgument(info, 2),
       to_offset = SizeArgument(info, 3), length = SizeArgument(info, 4)](uint64_t& count) {
        return CopyRange(from, from_offset, to, to_offset, length, &count);
      },
      NumberResult<uint64_t>);
}

Napi::Value TruncateTo(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {},
                  [fd = IntArgument(info, 0), length = SizeArgument(info, 1)] { return Truncate(fd, length); });
}

Napi::Value SyncFile(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kSync, {},
                  [fd = IntArgument(info, 0), data_only = info[1].ToBoolean().Value()] { return Sync(fd, data_only); });
}

Napi::Value StatOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Stat(), {}, [fd = IntArgument(info, 0)](Stat& stat) { return StatFile(fd, &stat); },
      StatResult);
}

Napi::Value ChangeStatOfFile(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {}, [fd = IntArgument(info, 0), change = StatChangeArguments(info, 1)] {
    return ChangeStat(fd, change);
  });
}

Napi::Value HandleOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, std::vector<uint8_t>(), {},
      [fd = IntArgument(info, 0)](std::vector<uint8_t>& handle) { return HandleOf(fd, &handle); }, BytesResult);
}

Napi::Value IdentityOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Identity(), {},
      [fd = IntArgument(info, 0)](Identity& found) {
        const int error = StatFile(fd, &found.stat);
        return error != 0 ? error : HandleOf(fd, &found.handle);
      },
      IdentityResult);
}

Napi::Value TakeLeaseOf(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Lease::kRefused, {},
      [fd = IntArgument(info, 0)](Lease& lease) {
        lease = TakeLease(fd);
        return 0;
      },
      NumberResult<Lease>);
}

// At once: the system answers from memory.
Napi::Value LeaseStandsOf(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), LeaseStands(IntArgument(info, 0)));
}

Napi::Value TakeLockOf(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Lock::kRefused, {},
      [fd = IntArgument(info, 0)](Lock& lock) {
        lock = TakeLock(fd);
        return 0;
      },
      NumberResult<Lock>);
}

Napi::Value Close(const Napi::CallbackInfo& info) {
  return StartJob(info.Env(), Lane::kQuick, {}, [fd = IntArgument(info, 0)] { return CloseFile(fd); });
}

}  // namespace

void ExportFile(Napi::Env env, Napi::Object exports) {
  exports.Set("read", Napi::Function::New<Read>(env));
  exports.Set("write", Napi::Function::New<Write>(env));
  exports.Set("copy", Napi::Function::New<CopyBetween>(env));
  exports.Set("truncate", Napi::Function::New<TruncateTo>(env));
  exports.Set("sync", Napi::Function::New<SyncFile>(env));
  exports.Set("statFile", Napi::Function::New<StatOfFile>(env));
  exports.Set("setStatFile", Napi::Function::New<ChangeStatOfFile>(env));
  exports.Set("handleFile", Napi::Function::New<HandleOfFile>(env));
  exports.Set("identifyFile", Napi::Function::New<IdentityOfFile>(env));
  exports.Set("takeLease", Napi::Function::New<TakeLeaseOf>(env));
  exports.Set("leaseStands", Napi::Function::New<LeaseStandsOf>(env));
  exports.Set("takeLock", Napi::Function::New<TakeLockOf>(env));
  exports.Set("close", Napi::Function::New<Close>(env));
  exports.Set("systemBoot", Napi::String::New(env, SystemBoot()));
  exports.Set("descriptorLimit", Napi::Number::New(env, static_cast<double>(DescriptorLimit())));
}

}  // namespace runnel
