// A job: `run` on a thread of the pool, then a promise settled on JavaScript's thread with what `finish` makes of the
// state.
//
// Buffers that JavaScript passed are not copied: the job keeps a reference to each until the promise is settled, and
// the caller must neither change nor transfer them before.
#ifndef RUNNEL_BRIDGE_CORE_JOB_H_
#define RUNNEL_BRIDGE_CORE_JOB_H_

#include <napi.h>

#include <cerrno>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "failure.h"
#include "state.h"

namespace runnel {

template <typename State>
struct Job {
  explicit Job(Napi::Env env, State initial) : state(std::move(initial)), deferred(Napi::Promise::Deferred::New(env)) {}

  State state;
  Failure failure;
  Napi::Promise::Deferred deferred;
  std::vector<Napi::ObjectReference> kept;
};

template <typename State, typename Run>
Failure RunGuarded(State& state, Run& run) {
  try {
    return run(state);
  } catch (const std::bad_alloc&) {
    return Failure(ENOMEM);
  } catch (...) {
    return Failure(EIO);
  }
}

template <typename State, typename Finish>
void Settle(Napi::Env env, Job<State>& job, Finish finish) {
  if (job.failure.is_failure()) {
    job.deferred.Reject(MakeError(env, job.failure).Value());
    return;
  }
  try {
    job.deferred.Resolve(finish(env, job.state));
  } catch (const Napi::Error& error) {
    job.deferred.Reject(error.Value());
  } catch (const std::exception&) {
    job.deferred.Reject(MakeError(env, Failure(ENOMEM)).Value());
  }
}

// run: Failure(State&), on the pool; it holds its arguments, the state what comes of them. finish:
// Napi::Value(Napi::Env, State&), on JavaScript's thread, only without a failure.
template <typename State, typename Run, typename Finish>
Napi::Value StartJob(Napi::Env env, Lane lane, State state, std::initializer_list<Napi::Object> kept, Run run,
                     Finish finish) {
  auto job = std::make_shared<Job<State>>(env, std::move(state));
  for (const Napi::Object& object : kept) job->kept.push_back(Napi::Persistent(object));
  const Napi::Promise promise = job->deferred.Promise();
  CoreState* core = &CoreState::Of(env);
  core->HoldLoop(env);
  // The pool's hold on the job is passed on, never shared: references of JavaScript must be dropped on its thread.
  core->pool().Submit(lane, [core, job = std::move(job), run = std::move(run), finish]() mutable {
    job->failure = RunGuarded(job->state, run);
    core->Post([core, job = std::move(job), finish](Napi::Env settling) {
      Settle(settling, *job, finish);
      core->ReleaseLoop(settling);
    });
  });
  return promise;
}

// Without a result. run: Failure(), on the pool.
template <typename Run>
Napi::Value StartJob(Napi::Env env, Lane lane, std::initializer_list<Napi::Object> kept, Run run) {
  return StartJob(
      env, lane, std::move(run), kept, [](Run& held) -> Failure { return held(); },
      [](Napi::Env settling, Run&) { return settling.Undefined(); });
}

// `finish` of jobs with one number.
template <typename Number>
Napi::Value NumberResult(Napi::Env env, Number& number) {
  return Napi::Number::New(env, static_cast<double>(number));
}

}  // namespace runnel

#endif  // RUNNEL_BRIDGE_CORE_JOB_H_
