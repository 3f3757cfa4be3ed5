#include "early_log.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

namespace runnel::drive {
namespace {

constexpr size_t kFileBytes = 4 * 1024 * 1024;
constexpr char kMagic[8] = {'R', 'N', 'L', 'E', 'A', 'R', 'L', '1'};
constexpr size_t kBootBytes = 64;

struct Head {
  char magic[sizeof(kMagic)];
  char boot[kBootBytes];
  uint64_t former;  // highest number of former processes
};

struct RecordHead {
  uint64_t number;
  uint64_t bytes;  // and kRecorded
};

constexpr uint64_t kRecorded = uint64_t{1} << 63;

size_t Padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Writes after all that was written before, whatever the compiler would rather do: a killed process stops anywhere.
void Store(char* at, uint64_t value) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *reinterpret_cast<volatile uint64_t*>(at) = value;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

std::string BootField(const std::string& boot) {
  std::string field = boot.substr(0, kBootBytes);
  field.resize(kBootBytes);
  return field;
}

}  // namespace

const size_t EarlyLog::kBegin = sizeof(Head);

bool EarlyLog::Open(const std::string& path, const std::string& boot, uint64_t next) {
  if (boot.empty()) return false;
  file_ = MappedFile::Open(path, kFileBytes);
  if (file_ == nullptr) return false;
  Head head = {};
  head.former = next - 1;
  // It is of no boot while it is begun anew. Records of before are known by their numbers.
  std::memcpy(file_->data(), &head, sizeof(head));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(head.boot, BootField(boot).data(), kBootBytes);
  std::memcpy(file_->data() + sizeof(kMagic), head.boot, kBootBytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(file_->data(), kMagic, sizeof(kMagic));
  end_ = kBegin;
  next_ = next;
  return true;
}

size_t EarlyLog::Append(std::string_view record) {
  const size_t bytes = sizeof(RecordHead) + Padded(record.size());
  // There is room behind it for the number that ends them.
  if (file_ == nullptr || end_ + bytes + sizeof(RecordHead) > kFileBytes) return 0;
  char* at = file_->data() + end_;
  Store(at + offsetof(RecordHead, number), 0);
  Store(at + offsetof(RecordHead, bytes), record.size());
  std::memcpy(at + sizeof(RecordHead), record.data(), record.size());
  Store(at + bytes + offsetof(RecordHead, number), 0);
  // With its number it is there.
  Store(at + offsetof(RecordHead, number), next_++);
  const size_t place = end_;
  end_ += bytes;
  return place;
}

void EarlyLog::Recorded(size_t place) {
  char* at = file_->data() + place + offsetof(RecordHead, bytes);
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof(bytes));
  Store(at, bytes | kRecorded);
}

std::vector<EarlyLog::Record> EarlyLog::Left(const std::string& path, const std::string& boot, uint64_t* last) {
  std::vector<Record> left;
  *last = 0;
  std::ifstream file(path, std::ios::binary);
  if (boot.empty() || !file) return left;
  Head head;
  if (!file.read(reinterpret_cast<char*>(&head), sizeof(head))) return left;
  const bool is_ours = std::equal(std::begin(kMagic), std::end(kMagic), head.magic) &&
                       BootField(boot) == std::string_view(head.boot, kBootBytes);
  if (!is_ours) return left;
  std::string bytes(kFileBytes + 1, '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.size() != kFileBytes) return left;
  *last = head.former;
  uint64_t before = 0;
  for (size_t at = sizeof(Head); at + sizeof(RecordHead) <= bytes.size();) {
    RecordHead record;
    std::memcpy(&record, bytes.data() + at, sizeof(record));
    at += sizeof(record);
    const bool is_recorded = (record.bytes & kRecorded) != 0;
    record.bytes &= ~kRecorded;
    const bool is_next = before == 0 ? record.number != 0 : record.number == before + 1;
    if (!is_next || record.bytes > bytes.size() - at) break;
    before = record.number;
    *last = std::max(*last, record.number);
    if (record.number > head.former && !is_recorded) left.push_back({record.number, bytes.substr(at, record.bytes)});
    at += Padded(record.bytes);
  }
  return left;
}

}  // namespace runnel::drive
