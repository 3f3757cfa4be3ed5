// Watching: batches of events cross one at a time, so that a busy event loop makes them grow, not queue up.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/bridge/core_arguments.h"
#include "src/bridge/core_exports.h"
#include "src/bridge/core_job.h"
#include "src/file/watcher.h"

namespace runnel {

namespace {

// JavaScript's side of one watch. The function is used and dropped on JavaScript's thread only.
struct Ear {
  Napi::FunctionReference tell;
  std::atomic<bool> is_busy = false;
};

Napi::Array EventsResult(Napi::Env env, const std::vector<WatchEvent>& events) {
  Napi::Array result = Napi::Array::New(env, 2 * events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Napi::HandleScope scope(env);
    result.Set(static_cast<uint32_t>(2 * i), Napi::String::New(env, events[i].path));
    result.Set(static_cast<uint32_t>(2 * i + 1), Napi::Number::New(env, static_cast<int>(events[i].kind)));
  }
  return result;
}

void Tell(Napi::Env env, Ear& ear, const std::vector<WatchEvent>& events) {
  ear.is_busy = false;
  // Emptied by the end of the watch, which may have come between.
  if (ear.tell.IsEmpty()) return;
  try {
    ear.tell.Call({EventsResult(env, events)});
  } catch (const Napi::Error& error) {
    napi_fatal_exception(env, error.Value());
  }
}

WatchListener ListenerOf(CoreState* core, std::shared_ptr<Ear> ear) {
  return [core, ear = std::move(ear)](std::vector<WatchEvent>* events) {
    if (ear->is_busy.exchange(true)) return false;
    core->Post([ear, batch = std::exchange(*events, {})](Napi::Env env) { Tell(env, *ear, batch); });
    return true;
  };
}

struct Starting {
  int root;
  std::vector<std::string> leave_out;
  std::shared_ptr<Ear> ear;
  CoreState* core;
  std::unique_ptr<Watcher> watcher;
};

Napi::Value Watch(const Napi::CallbackInfo& info) {
  Starting job = {IntArgument(info, 0), {}, std::make_shared<Ear>(), &CoreState::Of(info.Env()), nullptr};
  const auto names = info[1].As<Napi::Array>();
  for (uint32_t i = 0; i < names.Length(); ++i) job.leave_out.push_back(names.Get(i).ToString().Utf8Value());
  job.ear->tell = Napi::Persistent(info[2].As<Napi::Function>());
  return StartJob(
      info.Env(), Lane::kSync, std::move(job), {},
      [](Starting& starting) -> Failure {
        return StartWatcher(starting.root, std::move(starting.leave_out), ListenerOf(starting.core, starting.ear),
                            &starting.watcher);
      },
      [](Napi::Env env, Starting& started) -> Napi::Value {
        return Napi::Number::New(env, started.core->AddWatch({std::move(started.watcher), started.ear}));
      });
}

Napi::Value Unwatch(const Napi::CallbackInfo& info) {
  CoreState::Watch watch = CoreState::Of(info.Env()).TakeWatch(static_cast<uint32_t>(SizeArgument(info, 0)));
  if (watch.kept != nullptr) std::static_pointer_cast<Ear>(watch.kept)->tell.Reset();
  return StartJob(
      info.Env(), Lane::kQuick, std::move(watch), {},
      [](CoreState::Watch& ending) -> Failure {
        ending.watcher.reset();
        return {};
      },
      Undefined<CoreState::Watch>);
}

}  // namespace

void ExportWatch(Napi::Env env, Napi::Object exports) {
  exports.Set("watch", Napi::Function::New<Watch>(env));
  exports.Set("unwatch", Napi::Function::New<Unwatch>(env));
}

}  // namespace runnel
