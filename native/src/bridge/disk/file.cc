// Jobs on open files.
#include "src/file/file.h"
#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/bridge/core/results.h"
#include "src/file/descriptor.h"

namespace runnel {

namespace {

struct Transfer {
  int fd;
  uint64_t offset;
  Bytes bytes;
  size_t count;
};

Transfer TransferArguments(const Napi::CallbackInfo& info) {
  return {IntArgument(info, 0), SizeArgument(info, 1), BytesOf(info[2]), 0};
}

Napi::Value Read(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, TransferArguments(info), {info[2].As<Napi::Object>()},
      [](Transfer& job) -> Failure { return ReadAt(job.fd, job.offset, job.bytes.data, job.bytes.length, &job.count); },
      [](Napi::Env env, Transfer& job) -> Napi::Value {
        return Napi::Number::New(env, static_cast<double>(job.count));
      });
}

Napi::Value Write(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, TransferArguments(info), {info[2].As<Napi::Object>()},
      [](Transfer& job) -> Failure { return WriteAt(job.fd, job.offset, job.bytes.data, job.bytes.length); },
      Undefined<Transfer>);
}

struct Copy {
  int from;
  uint64_t from_offset;
  int to;
  uint64_t to_offset;
  uint64_t length;
  uint64_t count;
};

Napi::Value CopyBetween(const Napi::CallbackInfo& info) {
  const Copy copy = {IntArgument(info, 0),  SizeArgument(info, 1), IntArgument(info, 2),
                     SizeArgument(info, 3), SizeArgument(info, 4), 0};
  return StartJob(
      info.Env(), Lane::kSync, copy, {},
      [](Copy& job) -> Failure {
        return CopyRange(job.from, job.from_offset, job.to, job.to_offset, job.length, &job.count);
      },
      [](Napi::Env env, Copy& job) -> Napi::Value { return Napi::Number::New(env, static_cast<double>(job.count)); });
}

struct Cut {
  int fd;
  uint64_t length;
};

Napi::Value TruncateTo(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, Cut{IntArgument(info, 0), SizeArgument(info, 1)}, {},
      [](Cut& job) -> Failure { return Truncate(job.fd, job.length); }, Undefined<Cut>);
}

struct Syncing {
  int fd;
  bool data_only;
};

Napi::Value SyncFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kSync, Syncing{IntArgument(info, 0), info[1].ToBoolean().Value()}, {},
      [](Syncing& job) -> Failure { return Sync(job.fd, job.data_only); }, Undefined<Syncing>);
}

struct FileStat {
  int fd;
  Stat stat;
  StatChange change;
};

Napi::Value StatOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, FileStat{IntArgument(info, 0), {}, {}}, {},
      [](FileStat& job) -> Failure { return StatFile(job.fd, &job.stat); },
      [](Napi::Env env, FileStat& job) -> Napi::Value { return StatResult(env, job.stat); });
}

Napi::Value ChangeStatOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, FileStat{IntArgument(info, 0), {}, StatChangeArguments(info, 1)}, {},
      [](FileStat& job) -> Failure { return ChangeStat(job.fd, job.change); }, Undefined<FileStat>);
}

struct FileHandle {
  int fd;
  std::vector<uint8_t> handle;
};

Napi::Value HandleOfFile(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, FileHandle{IntArgument(info, 0), {}}, {},
      [](FileHandle& job) -> Failure { return HandleOf(job.fd, &job.handle); },
      [](Napi::Env env, FileHandle& job) -> Napi::Value { return CopyOf(env, job.handle.data(), job.handle.size()); });
}

struct LeaseOfFile {
  int fd;
  Lease lease;
};

Napi::Value TakeLeaseOf(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, LeaseOfFile{IntArgument(info, 0), Lease::kRefused}, {},
      [](LeaseOfFile& job) -> Failure {
        job.lease = TakeLease(job.fd);
        return 0;
      },
      [](Napi::Env env, LeaseOfFile& job) -> Napi::Value {
        return Napi::Number::New(env, static_cast<double>(job.lease));
      });
}

// At once: the system answers from memory.
Napi::Value LeaseStandsOf(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), LeaseStands(IntArgument(info, 0)));
}

Napi::Value Close(const Napi::CallbackInfo& info) {
  return StartJob(
      info.Env(), Lane::kQuick, IntArgument(info, 0), {}, [](int& fd) -> Failure { return CloseFile(fd); },
      Undefined<int>);
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
  exports.Set("takeLease", Napi::Function::New<TakeLeaseOf>(env));
  exports.Set("leaseStands", Napi::Function::New<LeaseStandsOf>(env));
  exports.Set("close", Napi::Function::New<Close>(env));
  exports.Set("descriptorLimit", Napi::Number::New(env, static_cast<double>(DescriptorLimit())));
}

}  // namespace runnel
