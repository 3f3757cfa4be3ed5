// Owns one descriptor of the system and closes it.
#ifndef RUNNEL_FILE_DESCRIPTOR_H_
#define RUNNEL_FILE_DESCRIPTOR_H_

#include <cstddef>
#include <utility>

namespace runnel {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~Descriptor() { Reset(-1); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Gives the descriptor away.
  int Release() { return std::exchange(fd_, -1); }
  // Closes what is held and holds `fd`.
  void Reset(int fd);

 private:
  int fd_ = -1;
};

// The number that this process may have open at once.
size_t DescriptorLimit();

}  // namespace runnel

#endif  // RUNNEL_FILE_DESCRIPTOR_H_
