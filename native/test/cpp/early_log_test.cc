// The log of early answers: it is full, and begins anew; what a process that stops anywhere leaves; a record's fields.
#include "src/drive/early/early_log.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/drive/early/early_record.h"

namespace runnel::drive {
namespace {

struct LogFile {
  std::string path = std::filesystem::temp_directory_path().string() + "/runnel-early-" + std::to_string(getpid());
  ~LogFile() { std::filesystem::remove(path); }
};

std::vector<std::string> Texts(const std::string& path, uint64_t* last) {
  std::vector<std::string> texts;
  for (const EarlyLog::Record& record : EarlyLog::Left(path, "boot", last)) texts.push_back(record.bytes);
  return texts;
}

}  // namespace

TEST_CASE("an early log that is full takes more once all has been taken in") {
  const LogFile file;
  EarlyLog log;
  REQUIRE(log.Open(file.path, "boot", 1));
  const std::string record(1000, 'x');
  std::vector<size_t> places;
  for (size_t place = log.Append(record); place != 0; place = log.Append(record)) places.push_back(place);
  const uint64_t count = places.size();
  CHECK(count > 1000);
  CHECK(log.last() == count);
  uint64_t last = 0;
  CHECK(Texts(file.path, &last).size() == count);
  for (const size_t place : places) {
    if (place != places[7]) log.Recorded(place);
  }
  CHECK(log.Append(record) == 0);
  CHECK(Texts(file.path, &last).size() == 1);
  log.Recorded(places[7]);
  CHECK(Texts(file.path, &last).empty());
  log.Rewind();
  // Longer ones and shorter ones over what is there.
  for (const size_t length : {1u, 7u, 2000u, 8u}) REQUIRE(log.Append(std::string(length, 'y')));
  CHECK(Texts(file.path, &last) == std::vector<std::string>{std::string(1, 'y'), std::string(7, 'y'),
                                                            std::string(2000, 'y'), std::string(8, 'y')});
  CHECK(last == count + 4);
}

TEST_CASE("of an early log whose process stopped anywhere the records before are there") {
  const LogFile file;
  EarlyLog log;
  REQUIRE(log.Open(file.path, "boot", 1));
  REQUIRE(log.Append("one"));
  std::ifstream before_file(file.path, std::ios::binary);
  const std::string before((std::istreambuf_iterator<char>(before_file)), std::istreambuf_iterator<char>());
  REQUIRE(log.Append("second"));
  std::ifstream after_file(file.path, std::ios::binary);
  const std::string after((std::istreambuf_iterator<char>(after_file)), std::istreambuf_iterator<char>());
  // A record becomes one by its number, which is written last.
  const size_t at = std::mismatch(before.begin(), before.end(), after.begin()).first - before.begin();
  for (size_t written = at + 8; written < at + 64; ++written) {
    std::string torn = before;
    std::copy(after.begin() + at + 8, after.begin() + written, torn.begin() + at + 8);
    std::ofstream(file.path, std::ios::binary) << torn;
    uint64_t last = 0;
    CHECK(Texts(file.path, &last) == std::vector<std::string>{"one"});
  }
}

TEST_CASE("an early log that cannot be had") {
  EarlyLog log;
  CHECK(log.Append("x") == 0);
  CHECK_FALSE(log.Open("/nowhere/early", "boot", 1));
  const LogFile file;
  CHECK_FALSE(log.Open(file.path, "", 1));
}

TEST_CASE("a record says what the message said, and what is cut short says nothing") {
  Message message{.op = Op::kRename, .node = 5, .folder = 6, .name = "one", .to_folder = 7, .to_name = "two ä"};
  message.how = RenameHow::kKeep;
  message.answered_ns = -3;
  message.caller = {.uid = 1, .gid = 2, .pid = 0};
  const std::string record = EncodeEarly(message);
  const std::optional<Message> read = DecodeEarly(record);
  REQUIRE(read.has_value());
  CHECK(EncodeEarly(*read) == record);
  CHECK(read->to_name == "two ä");
  for (size_t length = 0; length < record.size(); ++length)
    CHECK_FALSE(DecodeEarly(std::string_view(record).substr(0, length)).has_value());
  CHECK_FALSE(DecodeEarly(EncodeEarly({.op = Op::kOpen})).has_value());
}

TEST_CASE("so does a record of a content, with where it lies") {
  Message message{.op = Op::kCommit, .node = 5};
  message.base_version = 7;
  message.size_bytes = 100;
  message.ctime_ns = 9;
  message.layers = {{"/data/overlay-1", {{0, 10}, {90, 10}}}, {"/data/overlay-2", {}}};
  const std::string record = EncodeEarly(message);
  const std::optional<Message> read = DecodeEarly(record);
  REQUIRE(read.has_value());
  CHECK(EncodeEarly(*read) == record);
  CHECK(read->layers[0].path == "/data/overlay-1");
  CHECK(read->layers[0].extents[1].offset == 90);
  for (size_t length = 0; length < record.size(); ++length)
    CHECK_FALSE(DecodeEarly(std::string_view(record).substr(0, length)).has_value());
  // More extents than there are bytes.
  std::string damaged = record;
  const size_t count = damaged.find("/data/overlay-1") + sizeof("/data/overlay-1") - 1;
  damaged.replace(count, 8, 8, '\xff');
  CHECK_FALSE(DecodeEarly(damaged).has_value());
}

}  // namespace runnel::drive
