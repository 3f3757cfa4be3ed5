#include "early_log.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

namespace runnel::drive {
namespace {

constexpr size_t kFileBytes = 1024 * 1024;
constexpr char kMagic[8] = {'R', 'N', 'L', 'E', 'A', 'R', 'L', '1'};
constexpr size_t kBootBytes = 64;

struct Head {
  char magic[sizeof(kMagic)];
  char boot[kBootBytes];
  uint64_t taken_in;
};

struct RecordHead {
  uint64_t number;
  uint64_t bytes;
};

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

bool EarlyLog::Open(const std::string& path, const std::string& boot, uint64_t next) {
  if (boot.empty()) return false;
  file_ = MappedFile::Open(path, kFileBytes);
  if (file_ == nullptr) return false;
  Head head = {};
  head.taken_in = next - 1;
  // It is of no boot while it is emptied.
  std::memcpy(file_->data(), &head, sizeof(head));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memset(file_->data() + sizeof(head), 0, kFileBytes - sizeof(head));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(head.boot, BootField(boot).data(), kBootBytes);
  std::memcpy(file_->data() + sizeof(kMagic), head.boot, kBootBytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(file_->data(), kMagic, sizeof(kMagic));
  end_ = sizeof(Head);
  next_ = next;
  return true;
}

bool EarlyLog::Append(std::string_view record) {
  const size_t bytes = sizeof(RecordHead) + Padded(record.size());
  // There is room behind it for the number that ends them.
  if (file_ == nullptr || end_ + bytes + sizeof(RecordHead) > kFileBytes) return false;
  char* at = file_->data() + end_;
  Store(at + offsetof(RecordHead, number), 0);
  Store(at + offsetof(RecordHead, bytes), record.size());
  std::memcpy(at + sizeof(RecordHead), record.data(), record.size());
  Store(at + bytes + offsetof(RecordHead, number), 0);
  // With its number it is there.
  Store(at + offsetof(RecordHead, number), next_++);
  end_ += bytes;
  return true;
}

void EarlyLog::TakenIn(uint64_t number) {
  Store(file_->data() + offsetof(Head, taken_in), number);
  if (number == last()) end_ = sizeof(Head);
}

std::vector<EarlyLog::Record> EarlyLog::Left(const std::string& path, const std::string& boot, uint64_t* last) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Record> left;
  *last = 0;
  if (bytes.size() != kFileBytes || boot.empty()) return left;
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const bool is_ours = std::equal(std::begin(kMagic), std::end(kMagic), head.magic) &&
                       BootField(boot) == std::string_view(head.boot, kBootBytes);
  if (!is_ours) return left;
  *last = head.taken_in;
  uint64_t before = 0;
  for (size_t at = sizeof(Head); at + sizeof(RecordHead) <= bytes.size();) {
    RecordHead record;
    std::memcpy(&record, bytes.data() + at, sizeof(record));
    at += sizeof(record);
    const bool is_next = before == 0 ? record.number != 0 : record.number == before + 1;
    if (!is_next || record.bytes > bytes.size() - at) break;
    before = record.number;
    *last = std::max(*last, record.number);
    if (record.number > head.taken_in) left.push_back({record.number, bytes.substr(at, record.bytes)});
    at += Padded(record.bytes);
  }
  return left;
}

}  // namespace runnel::drive
