// Open files over a disk that takes only a part of what is written.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "src/drive/content/open_files.h"

namespace runnel::drive {
namespace {

constexpr uint64_t kFits = 64 * 1024;

// Files of this process take so many bytes and no more.
class ShortDisk {
 public:
  ShortDisk() {
    getrlimit(RLIMIT_FSIZE, &before_);
    former_ = signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = kFits;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ShortDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)signal(SIGXFSZ, former_);
  }
  ShortDisk(const ShortDisk&) = delete;
  ShortDisk& operator=(const ShortDisk&) = delete;

 private:
  rlimit before_{};
  void (*former_)(int) = nullptr;
};

}  // namespace

TEST_CASE("a write that the disk takes a part of is short, or a failure where nobody hears of a size") {
  std::string folder = std::filesystem::temp_directory_path() / "runnel-open-files-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  CoreSettings settings;
  settings.overlay_folder = folder;
  settings.overlay_prefix = "overlay";
  const std::string data(2 * kFits, 'x');
  for (const bool must_be_whole : {false, true}) {
    Entry entry;
    entry.version = 1;
    entry.size_bytes = 2 * kFits;
    File file(1, 2, 1, nullptr, entry, settings);
    REQUIRE(file.Truncate(2 * kFits, 1) == Kind::kNone);
    size_t written = 0;
    const ShortDisk disk;
    const Kind error = file.Write(data.data(), data.size(), 0, 2, must_be_whole, &written);
    CHECK(written == kFits);
    CHECK((error == Kind::kNone) == !must_be_whole);
    // Bytes that failed are not committed over the version.
    CHECK((file.WriteError() == Kind::kNone) == !must_be_whole);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace runnel::drive
