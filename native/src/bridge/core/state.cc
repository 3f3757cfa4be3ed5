#include "state.h"

#include <utility>

namespace runnel {

void CoreState::Attach(Napi::Env env) {
  auto* state = new CoreState(env);
  env.SetInstanceData<CoreState>(state);
  env.AddCleanupHook([](CoreState* ended) { Stop(ended); }, state);
}

namespace {

// The task is destroyed here too, while the scope for what it holds is open.
void RunOne(Napi::Env env, CoreState::Task* task) {
  try {
    const Napi::HandleScope scope(env);
    std::exchange(*task, nullptr)(env);
  } catch (const Napi::Error&) {
    // Tasks handle their own failures: this is the environment refusing any call because it is being terminated.
  }
}

}  // namespace

CoreState& CoreState::Of(Napi::Env env) { return *env.GetInstanceData<CoreState>(); }

CoreState::CoreState(Napi::Env env)
    : pool_(std::make_unique<ThreadPool>()), wake_(Wake::New(env, "runnel core", 0, 1, this)) {
  wake_.Unref(env);
}

void CoreState::Stop(CoreState* state) {
  {
    const std::lock_guard<std::mutex> lock(state->mutex_);
    state->is_stopped_ = true;
  }
  state->pool_->Stop();
  state->watches_.clear();
  // Posted work holds references of JavaScript, so it is dropped here and nowhere else. A watcher that had started and
  // not arrived is among it: its thread posts until it is dropped.
  while (state->DropPosted()) continue;
  state->wake_.Release();
}

uint32_t CoreState::AddWatch(Watch watch) {
  watches_[++last_watch_] = std::move(watch);
  return last_watch_;
}

CoreState::Watch CoreState::TakeWatch(uint32_t number) {
  const auto found = watches_.find(number);
  if (found == watches_.end()) return {};
  Watch watch = std::move(found->second);
  watches_.erase(found);
  return watch;
}

void CoreState::Post(Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  posted_.push_back(std::move(task));
  if (!is_stopped_ && posted_.size() == 1) wake_.NonBlockingCall();
}

bool CoreState::DropPosted() {
  std::vector<Task> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(posted_);
  return !dropped.empty();
}

void CoreState::HoldLoop(Napi::Env env) {
  if (held_++ == 0) wake_.Ref(env);
}

void CoreState::ReleaseLoop(Napi::Env env) {
  if (--held_ == 0) wake_.Unref(env);
}

void CoreState::RunPosted(Napi::Env env, Napi::Function, CoreState* state, void*) {
  if (static_cast<napi_env>(env) == nullptr) return;
  std::vector<Task> tasks;
  {
    const std::lock_guard<std::mutex> lock(state->mutex_);
    tasks.swap(state->posted_);
  }
  for (Task& task : tasks) RunOne(env, &task);
}

}  // namespace runnel
