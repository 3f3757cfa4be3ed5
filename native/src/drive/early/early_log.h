// Log of what programs were answered and the agent has not taken in yet. It lies in mapped memory, so that an answer
// costs no system call, and what a killed process left in it is read by the next. After a power cut nothing in it
// counts: which of its pages the system had written nobody knows, and what is older the agent has on disk elsewhere.
//
// The file: a head, then records, each with the number after that of the one before it. They begin anew at the head
// whenever the agent has taken all in. DriveCore guards it: it is not thread-safe.
#ifndef RUNNEL_DRIVE_EARLY_EARLY_LOG_H_
#define RUNNEL_DRIVE_EARLY_EARLY_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/file/mapped_file.h"

namespace runnel::drive {

class EarlyLog {
 public:
  // Empties the file, whose records a former process left and the agent has taken in. The next record has that number.
  // False: it cannot be had.
  bool Open(const std::string& path, const std::string& boot, uint64_t next);
  // Gives the record the next number; its place, or 0: there is no room before all has been taken in.
  size_t Append(std::string_view record);
  uint64_t last() const { return next_ - 1; }
  // The agent has the record at that place in its journal.
  void Recorded(size_t place);
  // It has all of them.
  void Rewind() { end_ = kBegin; }

  struct Record {
    uint64_t number = 0;
    std::string bytes;
  };
  // Records that are not taken in, of the system's current boot; none where there is no such file. `last`: the highest
  // number that was given.
  static std::vector<Record> Left(const std::string& path, const std::string& boot, uint64_t* last);

 private:
  static const size_t kBegin;

  std::unique_ptr<MappedFile> file_;
  size_t end_ = 0;
  uint64_t next_ = 1;  // number
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_EARLY_EARLY_LOG_H_
