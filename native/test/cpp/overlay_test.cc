// Open files over base and layers, and the maps of extents they are made of, against plain arrays.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bytes.h"
#include "overlay_model.h"

namespace runnel::drive {
namespace {

TEST_CASE("an open file holds what was written to it, through commits, failures and new bases") {
  const std::string folder = std::filesystem::temp_directory_path().string();
  Choices choices(4);
  for (int round = 0; round < 300; ++round) {
    const std::vector<uint8_t> steps = choices.Bytes(20 + choices.Below(300));
    CHECK_NOTHROW(PlayOverlay(folder, steps.data(), steps.size()));
  }
}

TEST_CASE("a map of extents knows what an array of flags knows") {
  constexpr size_t kSize = 200;
  Choices choices(5);
  for (int round = 0; round < 200; ++round) {
    ExtentMap map;
    std::vector<bool> flags(kSize);
    for (int step = 0; step < 30; ++step) {
      const size_t offset = choices.Below(kSize - 1);
      if (choices.Below(9) == 0) {
        map.Cut(offset);
        std::fill(flags.begin() + static_cast<ptrdiff_t>(offset), flags.end(), false);
      } else {
        const size_t length = choices.Below(std::min<size_t>(20, kSize - offset));
        map.Add(offset, length);
        std::fill_n(flags.begin() + static_cast<ptrdiff_t>(offset), length, true);
      }
      const size_t at = choices.Below(kSize - 1);
      const ExtentMap::Run run = map.At(at, kSize);
      CHECK(run.is_inside == flags[at]);
      size_t until = at;
      while (until < kSize && flags[until] == flags[at]) ++until;
      CHECK(run.until == until);
    }
    size_t covered = 0;
    uint64_t last = 0;
    for (const ByteRange& range : map.Ranges()) {
      CHECK((covered == 0 || range.offset > last));
      last = range.offset + range.length;
      covered += range.length;
    }
    CHECK(covered == static_cast<size_t>(std::count(flags.begin(), flags.end(), true)));
  }
}

}  // namespace
}  // namespace runnel::drive
