// The request table: each request is answered exactly once, whoever comes first: answer, interrupt, deadline or the end.
#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "threaded_host.h"

namespace runnel::drive {
namespace {

TEST_CASE("a request is answered once, though answer, interrupt, deadline and the end race for it") {
  constexpr int kRounds = 60;
  constexpr int kRequests = 40;
  for (int round = 0; round < kRounds; ++round) {
    ThreadedHost host;
    CoreSettings settings;
    for (uint32_t& deadline : settings.deadlines_ms) deadline = 1;
    RequestTable table(&host, settings);
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
          reply->Error(EIO);
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
    std::thread clock([&] { table.Expire(host.NowBootMs() + 10); });
    programs.join();
    agent.join();
    signals.join();
    clock.join();
    table.End(EIO);
    for (const auto& reply : replies) CHECK(reply->times() == 1);
    CHECK(table.WaiterCount() == 0);
  }
}

}  // namespace
}  // namespace runnel::drive
