#include "src/file/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace runnel {
namespace {

// Writes the length out: on a full disk that fails here, and not as SIGBUS at some later write to the memory.
bool TakeSpace(int fd, size_t length) {
  if (lseek(fd, 0, SEEK_END) == static_cast<off_t>(length)) return true;
  const std::vector<char> zeros(length);
  return ftruncate(fd, 0) == 0 && pwrite(fd, zeros.data(), length, 0) == static_cast<ssize_t>(length);
}

}  // namespace

std::unique_ptr<MappedFile> MappedFile::Open(const std::string& path, size_t length) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* data = TakeSpace(fd, length) ? mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<MappedFile>(new MappedFile(static_cast<char*>(data), length));
}

MappedFile::~MappedFile() { munmap(data_, length_); }

}  // namespace runnel
