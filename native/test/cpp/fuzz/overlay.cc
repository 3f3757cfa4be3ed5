// Any steps on an open file: written, cut, punched, committed with and without success, put over new bases.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "overlay_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string folder = std::filesystem::temp_directory_path().string();
  try {
    runnel::drive::PlayOverlay(folder, data, size);
  } catch (const std::logic_error& wrong) {
    std::fprintf(stderr, "Not so: %s\n", wrong.what());
    std::abort();
  }
  return 0;
}
