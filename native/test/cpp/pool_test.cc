// The thread pool: everything that was submitted runs once, whoever submits it, unless it is stopped before.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "src/pool/thread_pool.h"

namespace runnel {
namespace {

constexpr Lane kLanes[] = {Lane::kQuick, Lane::kSync, Lane::kCompute};

TEST_CASE("each job of every lane runs once, submitted by several threads and by jobs") {
  constexpr int kThreads = 4;
  constexpr int kJobs = 300;
  ThreadPool pool;
  std::atomic<int> runs = 0;
  std::promise<void> all;
  const auto count = [&] {
    if (++runs == 2 * kThreads * kJobs) all.set_value();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int job = 0; job < kJobs; ++job) {
        pool.Submit(kLanes[(i + job) % 3], [&, job] {
          pool.Submit(kLanes[job % 3], count);
          count();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  all.get_future().wait();
  CHECK(runs == 2 * kThreads * kJobs);
}

TEST_CASE("a stop waits for what has begun, and nothing begins after it") {
  for (int round = 0; round < 20; ++round) {
    auto pool = std::make_unique<ThreadPool>();
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    std::thread other([&] {
      for (int job = 0; job < 200; ++job) {
        pool->Submit(kLanes[job % 3], [&] {
          ++begun;
          std::this_thread::yield();
          ++ended;
        });
      }
    });
    pool->Stop();
    const int at_stop = begun;
    CHECK(ended == at_stop);
    other.join();
    pool.reset();
    CHECK(begun == at_stop);
  }
}

}  // namespace
}  // namespace runnel
