// A drive as JavaScript holds it: the core with one front. native/drive.ts checks arguments; nothing else uses this
// class.
//
// All methods run on JavaScript's main thread. What the core has for the agent is drained there too: for a front with a
// kernel through one thread-safe function with at most one call under way, for the memory front when the caller asks
// (drain).
//
// A mounted drive keeps this object alive; when the environment ends first, a clean-up hook ends the mount and its
// threads, which nobody could answer any more, before the thread-safe function goes. Locks: wake_mutex_ is a leaf,
// taken by any thread under the core's locks.
#ifndef RUNNEL_BRIDGE_DRIVE_OBJECT_H_
#define RUNNEL_BRIDGE_DRIVE_OBJECT_H_

#include <napi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "src/drive/kernel_front.h"
#include "src/drive/memory/memory_front.h"

namespace runnel::bridge {

class DriveObject : public Napi::ObjectWrap<DriveObject> {
 public:
  static Napi::Function Define(Napi::Env env);

  // (kind: "kernel" | "memory", settings)
  explicit DriveObject(const Napi::CallbackInfo& info);

 private:
  static constexpr size_t kBatchMax = 1024;

  drive::DriveCore& core() { return kernel_ != nullptr ? kernel_->core() : memory_->core(); }

  // A method of the core, or of the memory front, with what JavaScript gives for its arguments, each read as its type
  // is.
  template <auto Method>
  Napi::Value Forward(const Napi::CallbackInfo& info) {
    return ForwardTo(info, Method);
  }
  template <typename Class, typename Result, typename... Arguments>
  Napi::Value ForwardTo(const Napi::CallbackInfo& info, Result (Class::*method)(Arguments...)) {
    return CallMethod(info, method, std::index_sequence_for<Arguments...>());
  }
  template <typename Class, typename Result, typename... Arguments, size_t... at>
  Napi::Value CallMethod(const Napi::CallbackInfo& info, Result (Class::*method)(Arguments...),
                         std::index_sequence<at...>);

  // (onItems) → undefined or a sentence that says why not
  Napi::Value Start(const Napi::CallbackInfo& info);
  Napi::Value Close(const Napi::CallbackInfo& info);
  Napi::Value PutEntries(const Napi::CallbackInfo& info);
  Napi::Value PutFolder(const Napi::CallbackInfo& info);
  Napi::Value PutNode(const Napi::CallbackInfo& info);
  // → the kind of its failure, or ""
  Napi::Value PutContent(const Napi::CallbackInfo& info);
  // (id, kind or "", node, content, version)
  Napi::Value Settle(const Napi::CallbackInfo& info);
  Napi::Value SettleStatfs(const Napi::CallbackInfo& info);
  // (id, [name, bytes, name, bytes, …])
  Napi::Value SettleXattrs(const Napi::CallbackInfo& info);
  Napi::Value GetStatistics(const Napi::CallbackInfo& info);

  // Memory only; program.cc.
  Napi::Value Drain(const Napi::CallbackInfo& info);
  Napi::Value WakeTime(const Napi::CallbackInfo& info);
  // → undefined when there are none
  Napi::Value TakeInvalidations(const Napi::CallbackInfo& info);
  // (ticket, op, arguments) — what comes of it goes to the settings' `complete(ticket, result)`, perhaps before this
  // returns
  Napi::Value Call(const Napi::CallbackInfo& info);
  Napi::Value End(const Napi::CallbackInfo& info);
  void Complete(uint64_t ticket, drive::MemoryResult result);

  void WakeAgent();
  // From here on nothing wakes the agent.
  void StopWaking();
  static void OnEnvironmentEnd(void* drive);
  Napi::Array DrainItems(Napi::Env env, bool* has_ended);
  void DeliverItems(Napi::Env env, napi_value on_items);
  static void OnWake(napi_env env, napi_value on_items, void* context, void* data);

  std::unique_ptr<drive::KernelFront> kernel_;
  std::unique_ptr<drive::MemoryFront> memory_;
  Napi::FunctionReference complete_;
  std::mutex wake_mutex_;
  napi_threadsafe_function wake_ = nullptr;  // changed under wake_mutex_
  std::atomic<bool> is_waking_{false};
};

}  // namespace runnel::bridge

#endif  // RUNNEL_BRIDGE_DRIVE_OBJECT_H_
