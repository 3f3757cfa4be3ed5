// The drive's core under several programs, an agent and a clock, each on threads of their own.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <chrono>

#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "threaded_front.h"

namespace runnel::drive {
namespace {

constexpr int kPrograms = 4;
constexpr int kRounds = 25;
constexpr size_t kPieceBytes = 4096;

// Answers everything at once; keeps what is committed, and gives it back as a content. One thread.
class Agent {
 public:
  Agent(ThreadedFront* front, DriveCore* core) : front_(front), core_(core) {
    Entry root;
    root.node = kRootId;
    root.type = FileType::kFolder;
    root.mode = 0755;
    core_->PutNode(root, false);
    core_->SetLease(front_->NowBootMs() + 3'600'000);
  }

  void Run(const std::atomic<bool>& is_over) {
    while (!is_over) {
      front_->AwaitWake();
      for (std::vector<Outgoing> batch = core_->Drain(8); !batch.empty(); batch = core_->Drain(8)) {
        for (Outgoing& item : batch) {
          if (auto* message = std::get_if<Message>(&item)) Answer(*message);
        }
      }
      core_->Expire(front_->NowBootMs());
    }
  }

 private:
  void Answer(const Message& message) {
    drive::Answer answer;
    if (message.op == Op::kLookup) {
      core_->PutEntries({PutOf(message.folder, message.name)}, false);
    } else if (message.op == Op::kCreate) {
      answer.node = Create(message, &answer.error);
      answer.version = entries_[answer.node].version;
    } else if (message.op == Op::kGetattr) {
      core_->PutNode(entries_[message.node], false);
    } else if (message.op == Op::kOpen) {
      answer.version = entries_[message.node].version;
      answer.content = content_of_[message.node];
    } else if (message.op == Op::kCommit) {
      return Commit(message);
    } else {
      answer.error = Kind::kIo;
    }
    core_->Settle(message.id, answer);
  }

  DriveCore::Put PutOf(uint64_t folder, const std::string& name) {
    DriveCore::Put put{folder, name, true, {}};
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return put;
    put.is_absent = false;
    put.entry = entries_[found->second];
    return put;
  }

  uint64_t Create(const Message& message, Kind* error) {
    if (nodes_.count(message.name) != 0) {
      if (message.is_exclusive) *error = Kind::kExists;
    } else {
      const uint64_t node = ++last_node_;
      nodes_[message.name] = node;
      Entry& entry = entries_[node];
      entry.node = node;
      entry.mode = message.mode;
      entry.version = ++last_version_;
    }
    core_->PutEntries({PutOf(message.folder, message.name)}, false);
    return nodes_[message.name];
  }

  void Commit(const Message& message) {
    drive::Answer answer;
    std::string& bytes = bytes_of_[message.node];
    bytes.resize(message.base_bytes);
    bytes.resize(message.size_bytes);
    for (const LayerRanges& layer : message.layers) {
      const UniqueFd fd(open(layer.path.c_str(), O_RDONLY | O_CLOEXEC));
      for (const ByteRange& range : layer.extents) {
        if (pread(fd.Get(), bytes.data() + range.offset, range.length, static_cast<off_t>(range.offset)) < 0)
          answer.error = Kind::kIo;
      }
      unlink(layer.path.c_str());
    }
    Entry& entry = entries_[message.node];
    entry.size_bytes = message.size_bytes;
    answer.version = entry.version = ++last_version_;
    UniqueFd fd(memfd_create("content", MFD_CLOEXEC));
    if (write(fd.Get(), bytes.data(), bytes.size()) < 0) answer.error = Kind::kIo;
    const uint64_t id = ++last_content_;
    auto content =
        std::make_shared<Content>(id, message.node, entry.version, bytes.size(), std::string(), std::move(fd));
    content->AddPresent({{0, bytes.size()}});
    core_->PutContent(std::move(content));
    core_->PutNode(entry, false);
    const uint64_t file = message.file;
    core_->Settle(message.id, answer);
    core_->Rebase(file, id);
    if (content_of_[message.node] != 0) core_->DropContent(content_of_[message.node]);
    content_of_[message.node] = id;
  }

  ThreadedFront* const front_;
  DriveCore* const core_;
  uint64_t last_node_ = 10;
  uint64_t last_version_ = 1;
  uint64_t last_content_ = 0;
  std::map<std::string, uint64_t> nodes_;
  std::map<uint64_t, Entry> entries_;
  std::map<uint64_t, uint64_t> content_of_;
  std::map<uint64_t, std::string> bytes_of_;
};

template <typename Call>
Heard Ask(Call call) {
  const auto reply = std::make_shared<WaitingReply>();
  call(reply);
  return reply->Await();
}

// The file that all programs share, which the kernel would look up again when its version is not the one it knows.
Handle* OpenShared(DriveCore& core, uint64_t* id) {
  while (true) {
    const Heard made = Ask([&](ReplyPtr reply) { core.Create(reply, kRootId, "shared", 0644, O_RDWR | O_CREAT); });
    if (made.handle != nullptr) {
      *id = made.entry.id;
      return made.handle;
    }
    const Heard found = Ask([&](ReplyPtr reply) { core.Lookup(reply, kRootId, "shared"); });
    if (found.entry.id == 0) continue;
    const Heard opened = Ask([&](ReplyPtr reply) { core.Open(reply, found.entry.id, O_RDWR); });
    if (opened.handle != nullptr) {
      *id = found.entry.id;
      return opened.handle;
    }
    core.Forget(found.entry.id, 1);
  }
}

// Writes, saves and reads its own piece of a file that the others write too. Answers how often something was not as it
// should be.
int RunProgram(DriveCore& core, int number) {
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t id = 0;
    Handle* handle = OpenShared(core, &id);
    const std::string piece(kPieceBytes, static_cast<char>('a' + (number + round) % 26));
    const uint64_t offset = static_cast<uint64_t>(number) * kPieceBytes;
    wrong += Ask([&](ReplyPtr reply) { core.Write(reply, handle, offset, piece.data(), piece.size(), false); }).error !=
             Kind::kNone;
    wrong += Ask([&](ReplyPtr reply) { core.Read(reply, handle, offset, piece.size()); }).data != piece;
    wrong += Ask([&](ReplyPtr reply) { core.Flush(reply, handle); }).error != Kind::kNone;
    wrong += Ask([&](ReplyPtr reply) { core.Read(reply, handle, offset, piece.size()); }).data != piece;
    (void)Ask([&](ReplyPtr reply) { core.GetAttributes(reply, id); });
    const std::string own = "file-" + std::to_string(number) + "-" + std::to_string(round % 5);
    const Heard made = Ask([&](ReplyPtr reply) { core.Create(reply, kRootId, own, 0600, O_RDWR | O_CREAT); });
    if (made.handle != nullptr) {
      core.Release(made.handle);
      core.Forget(made.entry.id, 1);
    }
    core.Release(handle);
    core.Forget(id, 1);
  }
  return wrong;
}

TEST_CASE("programs, agent and clock work on one drive at the same time") {
  ThreadedFront front;
  CoreSettings settings;
  settings.overlay_folder = std::filesystem::temp_directory_path().string();
  settings.overlay_prefix = "threads";
  DriveCore core(&front, settings);
  front.core = &core;
  std::atomic<bool> is_over = false;
  std::vector<int> wrong(kPrograms);
  Agent agent(&front, &core);
  std::thread agent_thread([&] { agent.Run(is_over); });
  std::thread watcher([&] {
    for (uint64_t ticket = 1; !is_over; ++ticket) {
      (void)core.GetStatistics();
      core.CommitDirty(ticket);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::thread> programs;
  for (int i = 0; i < kPrograms; ++i) programs.emplace_back([&, i] { wrong[i] = RunProgram(core, i); });
  for (std::thread& program : programs) program.join();
  core.ReleaseAll();
  is_over = true;
  front.WakeAgent();
  agent_thread.join();
  watcher.join();
  core.End();
  front.Stop();
  for (const int count : wrong) CHECK(count == 0);
}

TEST_CASE("a write that takes long holds up nobody who says something of its file, and comes before that") {
  ThreadedFront front;
  CoreSettings settings;
  settings.overlay_folder = std::filesystem::temp_directory_path().string();
  settings.overlay_prefix = "turns";
  DriveCore core(&front, settings);
  front.core = &core;
  std::atomic<bool> is_over = false;
  Agent agent(&front, &core);
  std::thread agent_thread([&] { agent.Run(is_over); });
  uint64_t id = 0;
  Handle* handle = OpenShared(core, &id);
  const std::string text = "text";
  CHECK(Ask([&](ReplyPtr reply) { core.Write(reply, handle, 0, text.data(), text.size(), false); }).error ==
        Kind::kNone);
  std::promise<void> begun;
  std::promise<void> ended;
  std::atomic<int> after = 0;
  std::thread writer([&] {
    handle->file->InTurn(
        [&] {
          begun.set_value();
          ended.get_future().wait();
        },
        [&] { ++after; });
  });
  begun.get_future().wait();
  core.CommitDirty(1);
  const auto flushing = std::make_shared<WaitingReply>();
  core.Flush(flushing, handle);
  const auto opening = std::make_shared<WaitingReply>();
  core.Open(opening, id, O_RDWR | O_TRUNC);
  CHECK(handle->file->GetState().size_bytes == text.size());
  CHECK(flushing->times() + opening->times() + after == 0);
  ended.set_value();
  writer.join();
  CHECK(after == 1);
  CHECK(flushing->Await().error == Kind::kNone);
  Handle* opened = opening->Await().handle;
  REQUIRE(opened != nullptr);
  CHECK(handle->file->GetState().size_bytes == 0);
  core.Release(opened);
  core.Release(handle);
  core.Forget(id, 1);
  is_over = true;
  front.WakeAgent();
  agent_thread.join();
  core.End();
  front.Stop();
}

}  // namespace
}  // namespace runnel::drive
