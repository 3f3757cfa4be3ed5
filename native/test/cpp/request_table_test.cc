// The request table: each request is answered exactly once, whoever comes first: answer, interrupt, deadline or the
// end.
#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "threaded_front.h"

namespace runnel::drive {
namespace {

TEST_CASE("after the end nobody goes on before an answer that another thread gives has been given") {
  ThreadedFront front;
  CoreSettings settings;
  RequestTable table(&front, settings);
  const uint64_t id = table.NewId();
  std::atomic<bool> is_answering{false};
  std::atomic<bool> has_answered{false};
  Message message;
  message.id = id;
  table.Ask(std::move(message), [&](const Answer&) {
    is_answering = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    has_answered = true;
  });
  std::thread agent([&] { table.Settle(id, {}); });
  while (!is_answering) std::this_thread::yield();
  table.End(Kind::kIo);
  table.AwaitAnswers();
  CHECK(has_answered);
  agent.join();
}

TEST_CASE("a request is answered once, though answer, interrupt, deadline and the end race for it") {
  constexpr int kRounds = 60;
  constexpr int kRequests = 40;
  for (int round = 0; round < kRounds; ++round) {
    ThreadedFront front;
    CoreSettings settings;
    for (uint32_t& deadline : settings.deadlines_ms) deadline = 1;
    RequestTable table(&front, settings);
    std::vector<std::shared_ptr<WaitingReply>> replies;
    std::vector<uint64_t> ids;
    for (int i = 0; i < kRequests; ++i) {
      replies.push_back(std::make_shared<WaitingReply>());
      ids.push_back(table.NewId());
    }
    std::thread programs([&] {
      for (int i = 0; i < kRequests; ++i) {
        const auto reply = replies[i];
        const uint64_t id = ids[i];
        const auto resume = [reply](const Answer& answer) { reply->Error(answer.error); };
        const auto abandon = [&table, id](bool was_interrupted) { table.DropAsk(id, was_interrupted); };
        if (!table.Wait(id, {reply, table.DeadlineOf(Op::kLookup), resume, abandon})) {
          reply->Error(Kind::kIo);
          continue;
        }
        Message message;
        message.id = id;
        table.Ask(std::move(message), [&table, id](const Answer& answer) { table.Resume(id, answer); });
        table.Release(id);
      }
    });
    std::thread agent([&] {
      for (int i = 0; i < kRequests; ++i) {
        (void)table.Drain(3);
        table.Settle(ids[i], {});
      }
    });
    std::thread signals([&] {
      for (int i = kRequests; i-- > 0;) table.Interrupt(ids[i]);
    });
    std::thread clock([&] { table.Expire(front.NowBootMs() + 10); });
    programs.join();
    agent.join();
    signals.join();
    clock.join();
    table.End(Kind::kIo);
    for (const auto& reply : replies) CHECK(reply->times() == 1);
    CHECK(table.WaiterCount() == 0);
  }
}

class ManualFront : public ThreadedFront {
 public:
  int64_t NowBootMs() override { return now_ms; }
  std::atomic<int64_t> now_ms{1'000'000};
};

struct OneRequest {
  OneRequest(ManualFront* front, uint32_t deadline_ms) : front_(front), table(front, settings) {
    for (uint32_t& deadline : settings.deadlines_ms) deadline = deadline_ms;
  }
  void Begin() {
    reply = std::make_shared<WaitingReply>();
    const uint64_t id = table.NewId();
    const auto resume = [reply = reply](const Answer& answer) { reply->Error(answer.error); };
    REQUIRE(table.Wait(id, {reply, table.DeadlineOf(Op::kLookup), resume, nullptr}));
    table.Release(id);
  }
  bool IsGivenUpAfter(int64_t ms) {
    front_->now_ms += ms;
    (void)table.Expire(front_->now_ms);
    return reply->times() == 1;
  }
  ManualFront* const front_;
  CoreSettings settings;
  RequestTable table;
  std::shared_ptr<WaitingReply> reply;
};

TEST_CASE("no deadline runs while the agent is late, by what it says or by its saying nothing") {
  ManualFront front;
  OneRequest one(&front, 5000);
  one.table.Heartbeat(0);
  SUBCASE("it says so") {
    one.Begin();
    for (int beat = 1; beat <= 50; ++beat) {
      CHECK(!one.IsGivenUpAfter(250));
      one.table.Heartbeat(beat * 200);
    }
    // On time from here on: 2.5 s of the deadline are left.
    for (int beat = 0; beat < 12; ++beat) {
      CHECK(!one.IsGivenUpAfter(200));
      one.table.Heartbeat(10'000);
    }
    CHECK(one.IsGivenUpAfter(200));
  }
  SUBCASE("it says nothing: until it has gone on, or for a minute at the most") {
    one.Begin();
    CHECK(!one.IsGivenUpAfter(5000));
    CHECK(!one.IsGivenUpAfter(30'000));
    one.table.Heartbeat(34'900);
    CHECK(!one.IsGivenUpAfter(100));
    one.table.Heartbeat(34'900);
    for (int beat = 0; beat < 23; ++beat) {
      CHECK(!one.IsGivenUpAfter(200));
      one.table.Heartbeat(34'900);
    }
    CHECK(one.IsGivenUpAfter(200));
    one.Begin();
    CHECK(!one.IsGivenUpAfter(64'900));
    CHECK(one.IsGivenUpAfter(5'000));
  }
  SUBCASE("it hears late that something waits, and measures from then on") {
    one.Begin();
    front.now_ms += 4'900;
    one.table.Heartbeat(60);
    for (int beat = 0; beat < 23; ++beat) {
      CHECK(!one.IsGivenUpAfter(200));
      one.table.Heartbeat(60);
    }
    CHECK(one.IsGivenUpAfter(200));
  }
  SUBCASE("time in which nothing waited is not late") {
    front.now_ms += 3'600'000;
    one.Begin();
    one.table.Heartbeat(0);
    for (int beat = 0; beat < 24; ++beat) {
      CHECK(!one.IsGivenUpAfter(200));
      one.table.Heartbeat(0);
    }
    CHECK(one.IsGivenUpAfter(200));
  }
}

TEST_CASE("an agent that never says that it gets on is never late, and a slow line puts deadlines off") {
  ManualFront front;
  OneRequest one(&front, 5000);
  one.Begin();
  CHECK(!one.IsGivenUpAfter(4'999));
  CHECK(one.IsGivenUpAfter(1));
  one.table.SetDeadlineMin(15'000);
  one.Begin();
  CHECK(!one.IsGivenUpAfter(14'999));
  CHECK(one.IsGivenUpAfter(1));
}

}  // namespace
}  // namespace runnel::drive
