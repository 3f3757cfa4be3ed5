// Bytes to test with, and a source of choices that is the same for the same seed.
#ifndef RUNNEL_TEST_CPP_BYTES_H_
#define RUNNEL_TEST_CPP_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel {

class Choices {
 public:
  explicit Choices(uint32_t seed) : engine_(seed) {}
  // From 0 to `most`.
  size_t Below(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(engine_); }

  std::vector<uint8_t> Bytes(size_t length) {
    std::vector<uint8_t> bytes(length);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine_());
    return bytes;
  }

  // Runs of random bytes, of one byte, and of a short pattern; those of zeros may be longer.
  std::vector<uint8_t> MixedBytes(size_t length) {
    std::vector<uint8_t> bytes;
    while (bytes.size() < length) {
      const bool is_zero = Below(4) == 0;
      const size_t run = 1 + Below(is_zero ? 150'000 : 20'000);
      const std::vector<uint8_t> pattern = Bytes(is_zero ? 1 : Below(2) == 0 ? run : 1 + Below(300));
      for (size_t i = 0; i < run && bytes.size() < length; ++i) {
        bytes.push_back(is_zero ? uint8_t{0} : pattern[i % pattern.size()]);
      }
    }
    return bytes;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace runnel

#endif  // RUNNEL_TEST_CPP_BYTES_H_
