#include "object.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "convert.h"
#include "src/drive/content/overlay_file.h"

namespace runnel::bridge {
namespace {

using drive::DriveCore;
using drive::MemoryFront;

std::string StringOf(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::String>().Utf8Value();
}

drive::CoreSettings CoreSettingsOf(const Napi::Object& settings) {
  drive::CoreSettings core;
  core.overlay_folder = StringOf(settings, "overlayFolder");
  core.overlay_prefix = StringOf(settings, "overlayPrefix");
  core.entries_max = IdOf(settings.Get("entriesMax"));
  core.root_node = IdOf(settings.Get("rootNode"));
  core.is_read_only = settings.Get("isReadOnly").ToBoolean();
  const Napi::Value kernel_timeout = settings.Get("kernelTimeoutMs");
  if (kernel_timeout.IsNumber()) core.kernel_timeout_ms = kernel_timeout.As<Napi::Number>().Uint32Value();
  const auto deadlines = settings.Get("deadlinesMs").As<Napi::Object>();
  for (size_t i = 0; i < drive::kOps; ++i) {
    const Napi::Value deadline = deadlines.Get(drive::NameOf(static_cast<drive::Op>(i)));
    if (deadline.IsNumber()) core.deadlines_ms[i] = deadline.As<Napi::Number>().Uint32Value();
  }
  return core;
}

// An argument as a method's type wants it.
template <typename Wanted>
Wanted ArgumentOf(const Napi::Value& value) {
  if constexpr (std::is_same_v<Wanted, bool>) {
    return value.ToBoolean();
  } else if constexpr (std::is_same_v<Wanted, uint64_t>) {
    return IdOf(value);
  } else if constexpr (std::is_same_v<Wanted, std::vector<drive::ByteRange>>) {
    return RangesOf(value);
  } else if constexpr (std::is_same_v<Wanted, std::string>) {
    return value.As<Napi::String>().Utf8Value();
  } else if constexpr (std::is_same_v<Wanted, std::vector<std::string>>) {
    const auto list = value.As<Napi::Array>();
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < list.Length(); ++i) texts.push_back(list.Get(i).As<Napi::String>().Utf8Value());
    return texts;
  } else {
    bool is_lossless = false;
    if (value.IsBigInt()) return static_cast<Wanted>(value.As<Napi::BigInt>().Int64Value(&is_lossless));
    return static_cast<Wanted>(value.As<Napi::Number>().DoubleValue());
  }
}

}  // namespace

template <typename Class, typename Result, typename... Arguments, size_t... at>
Napi::Value DriveObject::CallMethod(const Napi::CallbackInfo& info, Result (Class::*method)(Arguments...),
                                    std::index_sequence<at...>) {
  Class* target = nullptr;
  if constexpr (std::is_same_v<Class, DriveCore>) {
    target = &core();
  } else {
    target = memory_.get();
  }
  if constexpr (std::is_same_v<Result, bool>) {
    return Napi::Boolean::New(info.Env(), (target->*method)(ArgumentOf<std::decay_t<Arguments>>(info[at])...));
  } else {
    (target->*method)(ArgumentOf<std::decay_t<Arguments>>(info[at])...);
    return info.Env().Undefined();
  }
}

Napi::Function DriveObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeDrive",
                     {
                         InstanceMethod<&DriveObject::Start>("start"),
                         InstanceMethod<&DriveObject::Close>("close"),
                         InstanceMethod<&DriveObject::PutEntries>("putEntries"),
                         InstanceMethod<&DriveObject::PutFolder>("putFolder"),
                         InstanceMethod<&DriveObject::PutNode>("putNode"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::DropFolder>>("dropFolder"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::SetLease>>("setLease"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::OpenEarlyLog>>("openEarlyLog"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::GiveNodes>>("giveNodes"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::AllowEarly>>("allowEarly"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::TookIn>>("tookIn"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Barrier>>("barrier"),
                         InstanceMethod<&DriveObject::PutContent>("putContent"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::PutRanges>>("putRanges"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::DropContent>>("dropContent"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::DropContentBut>>("dropContentBut"),
                         InstanceMethod<&DriveObject::Settle>("settle"),
                         InstanceMethod<&DriveObject::SettleStatfs>("settleStatfs"),
                         InstanceMethod<&DriveObject::SettleXattrs>("settleXattrs"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Prolong>>("prolong"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::SetDeadlineMin>>("setDeadlineMin"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Heartbeat>>("heartbeat"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::ReplaceContent>>("replaceContent"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Rebase>>("rebase"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::JoinLayers>>("joinLayers"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Saved>>("saved"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::CommitDirty>>("commitDirty"),
                         InstanceMethod<&DriveObject::GetStatistics>("statistics"),
                         InstanceMethod<&DriveObject::Forward<&MemoryFront::SetTime>>("setTime"),
                         InstanceMethod<&DriveObject::Forward<&MemoryFront::TakeWake>>("takeWake"),
                         InstanceMethod<&DriveObject::Drain>("drain"),
                         InstanceMethod<&DriveObject::WakeTime>("wakeTime"),
                         InstanceMethod<&DriveObject::Forward<&MemoryFront::Expire>>("expire"),
                         InstanceMethod<&DriveObject::Forward<&MemoryFront::RunTasks>>("runTasks"),
                         InstanceMethod<&DriveObject::Forward<&MemoryFront::Interrupt>>("interrupt"),
                         InstanceMethod<&DriveObject::TakeInvalidations>("takeInvalidations"),
                         InstanceMethod<&DriveObject::Forward<&DriveCore::Invalidated>>("invalidated"),
                         InstanceMethod<&DriveObject::Call>("call"),
                         InstanceMethod<&DriveObject::End>("end"),
                     });
}

DriveObject::DriveObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DriveObject>(info) {
  const auto settings = info[1].As<Napi::Object>();
  if (info[0].As<Napi::String>().Utf8Value() == "kernel") {
    drive::KernelFront::Settings kernel;
    kernel.mountpoint = StringOf(settings, "mountpoint");
    kernel.source = StringOf(settings, "source");
    kernel.is_read_only = settings.Get("isReadOnly").ToBoolean();
    kernel.uses_fskit = settings.Get("usesFsKit").ToBoolean();
    kernel.replaces_dead = settings.Get("replacesDead").ToBoolean();
    kernel_ = drive::MakeKernelFront(std::move(kernel), CoreSettingsOf(settings), [this] { WakeAgent(); });
    if (kernel_ == nullptr) throw Napi::Error::New(info.Env(), "Runnel cannot map drives on this system yet.");
  } else {
    complete_ = Napi::Persistent(settings.Get("complete").As<Napi::Function>());
    memory_ = std::make_unique<drive::MemoryFront>(
        CoreSettingsOf(settings),
        [this](uint64_t ticket, drive::MemoryResult result) { Complete(ticket, std::move(result)); });
  }
}

// Any thread, under the core's locks.
void DriveObject::WakeAgent() {
  const std::lock_guard lock(wake_mutex_);
  if (wake_ == nullptr || is_waking_.exchange(true)) return;
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

void DriveObject::StopWaking() {
  const std::lock_guard lock(wake_mutex_);
  napi_release_threadsafe_function(std::exchange(wake_, nullptr), napi_tsfn_abort);
}

void DriveObject::OnEnvironmentEnd(void* drive) {
  auto* self = static_cast<DriveObject*>(drive);
  self->StopWaking();
  self->kernel_->EndNow();
}

Napi::Array DriveObject::DrainItems(Napi::Env env, bool* has_ended) {
  const std::vector<drive::Outgoing> batch = core().Drain(kBatchMax);
  Napi::Array items = Napi::Array::New(env, batch.size());
  for (uint32_t i = 0; i < batch.size(); ++i) {
    Napi::HandleScope scope(env);
    if (const auto* message = std::get_if<drive::Message>(&batch[i])) {
      items.Set(i, ToObject(env, *message));
    } else {
      const auto& notice = std::get<drive::Notice>(batch[i]);
      if (notice.type == drive::Notice::kEnded && notice.id != 0) *has_ended = true;
      items.Set(i, ToObject(env, notice));
    }
  }
  return items;
}

void DriveObject::OnWake(napi_env raw_env, napi_value on_items, void* context, void*) {
  if (raw_env == nullptr) return;  // the environment is going down
  try {
    static_cast<DriveObject*>(context)->DeliverItems(raw_env, on_items);
  } catch (const Napi::Error&) {
    // The environment refuses any call because it is being terminated; its clean-up hook ends the drive.
  }
}

void DriveObject::DeliverItems(Napi::Env env, napi_value on_items) {
  is_waking_ = false;
  bool has_ended = false;
  napi_value items = DrainItems(env, &has_ended);
  napi_value global = env.Global();
  napi_value result;
  if (napi_call_function(env, global, on_items, 1, &items, &result) == napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    napi_fatal_exception(env, error);  // as an exception in any callback: to 'uncaughtException'
  }
  if (!has_ended) return;
  napi_remove_env_cleanup_hook(env, OnEnvironmentEnd, this);
  StopWaking();
  Unref();
}

Napi::Value DriveObject::Start(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_create_threadsafe_function(env, info[0], nullptr, Napi::String::New(env, "runnel.drive"), 0, 1, nullptr, nullptr,
                                  this, OnWake, &wake_);
  const std::string problem = kernel_->Start();
  if (!problem.empty()) {
    StopWaking();
    return Napi::String::New(env, problem);
  }
  // After the thread-safe function was made: hooks run last to first, and that function has one of its own.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
  Ref();
  return env.Undefined();
}

Napi::Value DriveObject::Close(const Napi::CallbackInfo& info) {
  kernel_->Close(info[0].ToBoolean(), [this](drive::KernelFront::Ending ending) {
    core().Notify({drive::Notice::kEnded, ending.is_done ? 1u : 0u, 0, std::move(ending.problem)});
  });
  return info.Env().Undefined();
}

Napi::Value DriveObject::PutEntries(const Napi::CallbackInfo& info) {
  PackedEntries packed = Unpack(info[0], info[1], info[2], info[3].As<Napi::Number>().Uint32Value());
  std::vector<DriveCore::Put> puts;
  puts.reserve(packed.items.size());
  for (PackedEntries::Item& item : packed.items) {
    puts.push_back({item.folder, std::move(item.name), item.is_absent, std::move(item.entry)});
  }
  core().PutEntries(std::move(puts), info[4].ToBoolean());
  return info.Env().Undefined();
}

Napi::Value DriveObject::PutFolder(const Napi::CallbackInfo& info) {
  PackedEntries packed = Unpack(info[1], info[2], info[3], info[4].As<Napi::Number>().Uint32Value());
  std::vector<drive::EntryTable::NewName> listing;
  listing.reserve(packed.items.size());
  for (PackedEntries::Item& item : packed.items) listing.push_back({std::move(item.name), std::move(item.entry)});
  core().PutFolder(IdOf(info[0]), std::move(listing));
  return info.Env().Undefined();
}

Napi::Value DriveObject::PutNode(const Napi::CallbackInfo& info) {
  const PackedEntries packed = Unpack(info[0], info[1], info[2], 1);
  core().PutNode(packed.items[0].entry, info[3].ToBoolean());
  return info.Env().Undefined();
}

Napi::Value DriveObject::PutContent(const Napi::CallbackInfo& info) {
  const std::string path = info[3].As<Napi::String>().Utf8Value();
  drive::UniqueFd fd;
  const drive::Kind error =
      drive::PooledFile::OpenReclaiming([&path](int* to) { return drive::OpenContentFile(path, to); }, &fd);
  if (error == drive::Kind::kNone) {
    auto content = std::make_shared<drive::Content>(IdOf(info[0]), IdOf(info[1]), IdOf(info[2]), IdOf(info[4]), path,
                                                    std::move(fd));
    content->AddPresent(RangesOf(info[5]));
    core().PutContent(std::move(content));
  }
  return Napi::String::New(info.Env(), std::string(drive::NameOf(error)));
}

Napi::Value DriveObject::Settle(const Napi::CallbackInfo& info) {
  drive::Answer answer;
  answer.error = drive::KindNamed(info[1].As<Napi::String>().Utf8Value());
  answer.node = IdOf(info[2]);
  answer.content = IdOf(info[3]);
  answer.version = IdOf(info[4]);
  core().Settle(IdOf(info[0]), answer);
  return info.Env().Undefined();
}

Napi::Value DriveObject::SettleStatfs(const Napi::CallbackInfo& info) {
  drive::Answer answer;
  answer.space = {IdOf(info[1]), IdOf(info[2]), IdOf(info[3]), IdOf(info[4]), IdOf(info[5])};
  core().Settle(IdOf(info[0]), answer);
  return info.Env().Undefined();
}

Napi::Value DriveObject::SettleXattrs(const Napi::CallbackInfo& info) {
  const auto flat = info[1].As<Napi::Array>();
  auto xattrs = std::make_shared<drive::Xattrs>();
  for (uint32_t at = 0; at + 1 < flat.Length(); at += 2) {
    const auto value = flat.Get(at + 1).As<Napi::Uint8Array>();
    (*xattrs)[flat.Get(at).As<Napi::String>().Utf8Value()].assign(reinterpret_cast<const char*>(value.Data()),
                                                                  value.ByteLength());
  }
  drive::Answer answer;
  answer.xattrs = std::move(xattrs);
  core().Settle(IdOf(info[0]), answer);
  return info.Env().Undefined();
}

Napi::Value DriveObject::GetStatistics(const Napi::CallbackInfo& info) {
  return ToObject(info.Env(), core().GetStatistics());
}

}  // namespace runnel::bridge
