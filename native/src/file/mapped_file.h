// A file of a fixed length in memory: what is written there is in the file at once, also when the process is killed in
// the next moment. A power cut takes what the system has not written yet, in whatever order.
#ifndef RUNNEL_FILE_MAPPED_FILE_H_
#define RUNNEL_FILE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

namespace runnel {

class MappedFile {
 public:
  // Makes the file where it is missing, and gives it that length; its space is taken. Null when that cannot be.
  static std::unique_ptr<MappedFile> Open(const std::string& path, size_t length);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() { return data_; }
  size_t length() const { return length_; }

 private:
  MappedFile(char* data, size_t length) : data_(data), length_(length) {}

  char* const data_;
  const size_t length_;
};

}  // namespace runnel

#endif  // RUNNEL_FILE_MAPPED_FILE_H_
