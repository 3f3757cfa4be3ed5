// State that a loaded instance of the addon owns: the pool, the way back to JavaScript's thread, and the watchers. Made
// when the addon is loaded, ended by a clean-up hook before the environment goes: from then on nothing reaches
// JavaScript.
#ifndef RUNNEL_BRIDGE_CORE_STATE_H_
#define RUNNEL_BRIDGE_CORE_STATE_H_

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "src/file/watcher.h"
#include "src/pool/thread_pool.h"

namespace runnel {

class CoreState {
 public:
  using Task = std::function<void(Napi::Env)>;

  static void Attach(Napi::Env env);
  static CoreState& Of(Napi::Env env);

  explicit CoreState(Napi::Env env);

  ThreadPool& pool() { return *pool_; }

  // A watcher and what its listener holds of JavaScript, which must go on JavaScript's thread.
  struct Watch {
    std::unique_ptr<Watcher> watcher;
    std::shared_ptr<void> kept;
  };

  // Watches by number, so that the end of the environment ends them. On JavaScript's thread.
  uint32_t AddWatch(Watch watch);
  Watch TakeWatch(uint32_t number);

  // Runs `task` on JavaScript's thread soon, or only destroys it there when the environment ends first. From any
  // thread. `task` must not throw.
  void Post(Task task);

  // The event loop lives while any job is held. On JavaScript's thread.
  void HoldLoop(Napi::Env env);
  void ReleaseLoop(Napi::Env env);

 private:
  static void RunPosted(Napi::Env env, Napi::Function unused, CoreState* state, void* data);
  using Wake = Napi::TypedThreadSafeFunction<CoreState, void, RunPosted>;

  static void Stop(CoreState* state);
  // Destroys what was posted, on JavaScript's thread; false when there was nothing.
  bool DropPosted();

  std::unique_ptr<ThreadPool> pool_;
  std::unordered_map<uint32_t, Watch> watches_;
  uint32_t last_watch_ = 0;
  size_t held_ = 0;

  Wake wake_;
  std::mutex mutex_;  // guards the two below
  std::vector<Task> posted_;
  bool is_stopped_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_STATE_H_
