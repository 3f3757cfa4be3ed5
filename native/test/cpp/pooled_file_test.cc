// Files that are opened when they are used: how many are open, and what stays open.
#include "src/drive/content/pooled_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/drive/content/overlay_file.h"
#include "src/file/descriptor.h"

namespace runnel::drive {
namespace {

struct Folder {
  std::string path = std::filesystem::temp_directory_path().string() + "/runnel-kept-" + std::to_string(getpid());
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::unique_ptr<PooledFile> Make(const Folder& folder, size_t number) {
  const std::string path = folder.path + "/" + std::to_string(number);
  UniqueFd fd;
  REQUIRE(PooledFile::OpenReclaiming([&path](int* to) { return MakeOverlayFile(path, to); }, &fd) == Kind::kNone);
  size_t written = 0;
  REQUIRE(WriteOverlay(fd.Get(), 0, "text", 4, &written) == Kind::kNone);
  return std::make_unique<PooledFile>(path, true, std::move(fd));
}

std::string TextOf(const SharedFd& fd) {
  std::string text(4, ' ');
  return ReadOverlay(fd->Get(), 0, text.data(), 4) == Kind::kNone ? text : "";
}

}  // namespace

TEST_CASE("more files than may be open are there to be used, and no more are open than a tenth of the limit") {
  const Folder folder;
  const size_t most = DescriptorLimit() / 10;
  std::vector<std::unique_ptr<PooledFile>> files;
  for (size_t number = 0; number < most + 50; ++number) files.push_back(Make(folder, number));
  CHECK(PooledFile::OpenCount() <= most);
  for (const auto& file : files) {
    SharedFd fd;
    REQUIRE(file->Use(&fd) == Kind::kNone);
    CHECK(TextOf(fd) == "text");
  }
  CHECK(PooledFile::OpenCount() <= most);
  files.clear();
  CHECK(PooledFile::OpenCount() == 0);
}

TEST_CASE(
    "a file stays open while it is used, and one that was pinned for as long as it lives, whatever becomes of its "
    "path") {
  const Folder folder;
  const std::unique_ptr<PooledFile> pinned = Make(folder, 1);
  const std::unique_ptr<PooledFile> used = Make(folder, 2);
  SharedFd fd;
  REQUIRE(used->Use(&fd) == Kind::kNone);
  REQUIRE(pinned->Pin() == Kind::kNone);
  RemoveOverlayFile(pinned->path());
  RemoveOverlayFile(used->path());
  std::vector<std::unique_ptr<PooledFile>> others;
  for (size_t number = 3; number < DescriptorLimit() / 10 + 10; ++number) others.push_back(Make(folder, number));
  CHECK(TextOf(fd) == "text");
  SharedFd again;
  REQUIRE(pinned->Use(&again) == Kind::kNone);
  CHECK(TextOf(again) == "text");
}

TEST_CASE("where no descriptor is left, pooled files are closed for another") {
  const Folder folder;
  std::vector<std::unique_ptr<PooledFile>> files;
  for (size_t number = 0; number < 8; ++number) files.push_back(Make(folder, number));
  std::vector<UniqueFd> taken;
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few = {64, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (int fd = dup(0); fd >= 0; fd = dup(0)) taken.emplace_back(fd);
  {
    const std::unique_ptr<PooledFile> another = Make(folder, 9);
    CHECK(PooledFile::OpenCount() < 9);
  }
  taken.clear();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace runnel::drive
