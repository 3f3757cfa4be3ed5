// Watching: batches of events cross one at a time, so that a busy event loop makes them grow, not queue up.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core/arguments.h"
#include "src/bridge/core/exports.h"
#include "src/bridge/core/job.h"
#include "src/file/name_text.h"
#include "src/file/watcher.h"

namespace runnel {

namespace {

Napi::Array EventsResult(Napi::Env env, const std::vector<WatchEvent>& events) {
  Napi::Array result = Napi::Array::New(env, 2 * events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Napi::HandleScope scope(env);
    result.Set(static_cast<uint32_t>(2 * i), Napi::String::New(env, TextOfName(events[i].path)));
    result.Set(static_cast<uint32_t>(2 * i + 1), Napi::Number::New(env, static_cast<int>(events[i].kind)));
  }
  return result;
}

// Hands batches to a function of JavaScript, which is used and dropped on JavaScript's thread only.
class Ear : public WatchListener, public std::enable_shared_from_this<Ear> {
 public:
  Ear(CoreState* core, const Napi::Function& tell) : core_(core), tell_(Napi::Persistent(tell)) {}

  bool IsReady() override { return !is_busy_; }

  void Report(std::vector<WatchEvent> events) override {
    is_busy_ = true;
    core_->Post([ear = shared_from_this(), batch = std::move(events)](Napi::Env env) { ear->Call(env, batch); });
  }

  // On JavaScript's thread: what is still on its way is not told any more.
  void Close() { tell_.Reset(); }

 private:
  void Call(Napi::Env env, const std::vector<WatchEvent>& events) {
    is_busy_ = false;
    if (tell_.IsEmpty()) return;
    try {
      tell_.Call({EventsResult(env, events)});
    } catch (const Napi::Error& error) {
      napi_fatal_exception(env, error.Value());
    }
  }

  CoreState* const core_;
  Napi::FunctionReference tell_;
  std::atomic<bool> is_busy_ = false;
};

Napi::Value Watch(const Napi::CallbackInfo& info) {
  CoreState* core = &CoreState::Of(info.Env());
  const auto names = info[1].As<Napi::Array>();
  std::vector<std::string> excluded;
  for (uint32_t i = 0; i < names.Length(); ++i) excluded.push_back(names.Get(i).ToString().Utf8Value());
  CoreState::Watch job = {nullptr, std::make_shared<Ear>(core, info[2].As<Napi::Function>())};
  return StartJob(
      info.Env(), Lane::kSync, std::move(job), {},
      [root = IntArgument(info, 0), excluded = std::move(excluded)](CoreState::Watch& starting) mutable {
        return StartWatcher(root, std::move(excluded), std::static_pointer_cast<Ear>(starting.kept), &starting.watcher);
      },
      [core](Napi::Env env, CoreState::Watch& started) {
        return Napi::Number::New(env, core->AddWatch(std::move(started)));
      });
}

Napi::Value Unwatch(const Napi::CallbackInfo& info) {
  CoreState::Watch watch = CoreState::Of(info.Env()).TakeWatch(static_cast<uint32_t>(SizeArgument(info, 0)));
  if (watch.kept != nullptr) std::static_pointer_cast<Ear>(watch.kept)->Close();
  return StartJob(
      info.Env(), Lane::kQuick, std::move(watch), {},
      [](CoreState::Watch& ending) {
        ending.watcher.reset();
        return 0;
      },
      [](Napi::Env env, CoreState::Watch&) { return env.Undefined(); });
}

}  // namespace

void ExportWatch(Napi::Env env, Napi::Object exports) {
  exports.Set("watch", Napi::Function::New<Watch>(env));
  exports.Set("unwatch", Napi::Function::New<Unwatch>(env));
}

}  // namespace runnel
