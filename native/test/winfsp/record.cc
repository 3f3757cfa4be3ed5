#include "record.h"

#include <cstring>

namespace runnel::test {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& from) : from_(from) {}

  uint64_t Number() {
    uint64_t number = 0;
    Copy(&number, sizeof(number));
    return number;
  }

  UINT32 Word() { return static_cast<UINT32>(Number()); }

  std::string Bytes() {
    const uint64_t size = Number();
    std::string bytes(size <= from_.size() - at_ ? size : 0, '\0');
    is_good_ = is_good_ && bytes.size() == size;
    Copy(bytes.data(), bytes.size());
    return bytes;
  }

  std::wstring Text() {
    const std::string bytes = Bytes();
    std::wstring text(bytes.size() / sizeof(wchar_t), L'\0');
    memcpy(text.data(), bytes.data(), text.size() * sizeof(wchar_t));
    return text;
  }

  bool IsWhole() const { return is_good_ && at_ == from_.size(); }

 private:
  void Copy(void* to, size_t size) {
    is_good_ = is_good_ && size <= from_.size() - at_;
    if (!is_good_) return;
    memcpy(to, &from_[at_], size);
    at_ += size;
  }

  const std::string& from_;
  size_t at_ = 0;
  bool is_good_ = true;
};

void Append(uint64_t number, std::string* to) { to->append(reinterpret_cast<const char*>(&number), sizeof(number)); }

void Append(const void* bytes, size_t size, std::string* to) {
  Append(size, to);
  to->append(static_cast<const char*>(bytes), size);
}

std::vector<uint64_t> NumbersOf(const FSP_FSCTL_FILE_INFO& info) {
  return {info.FileAttributes, info.ReparseTag,    info.FileSize,   info.AllocationSize, info.CreationTime,
          info.LastAccessTime, info.LastWriteTime, info.ChangeTime, info.IndexNumber};
}

}  // namespace

bool ReadRequest(const std::string& record, Request* request) {
  Reader reader(record);
  request->id = reader.Number();
  const std::wstring call = reader.Text();
  request->call.assign(call.begin(), call.end());
  request->place = reader.Text();
  Asked& asked = request->asked;
  asked.path = reader.Text();
  asked.to = reader.Text();
  asked.bytes = reader.Bytes();
  asked.disposition = reader.Word();
  asked.access = reader.Word();
  asked.options = reader.Word();
  asked.attributes = reader.Word();
  asked.handle = static_cast<int64_t>(reader.Number());
  asked.offset = reader.Number();
  asked.size = reader.Number();
  asked.atime = reader.Number();
  asked.mtime = reader.Number();
  asked.is_on = reader.Number() != 0;
  return reader.IsWhole();
}

std::string RecordOf(uint64_t id, const Answer& answer) {
  std::string record;
  Append(id, &record);
  Append(static_cast<UINT32>(answer.status), &record);
  Append(static_cast<uint64_t>(answer.handle), &record);
  Append(answer.bytes.data(), answer.bytes.size(), &record);
  Append(answer.rows.size(), &record);
  for (const auto& [text, numbers] : answer.rows) {
    Append(text.data(), text.size() * sizeof(wchar_t), &record);
    Append(numbers.size(), &record);
    for (const uint64_t number : numbers) Append(number, &record);
  }
  std::string framed;
  Append(record.data(), record.size(), &framed);
  return framed;
}

Answer AnswerOf(StandInReply told) {
  Answer answer = {told.status, told.handle, std::move(told.bytes), {}};
  answer.rows.push_back({told.text, told.has_info ? NumbersOf(told.info) : std::vector<uint64_t>{}});
  const FSP_FSCTL_VOLUME_INFO& volume = told.volume;
  answer.rows.push_back(
      {{volume.VolumeLabel, volume.VolumeLabelLength / sizeof(WCHAR)}, {volume.TotalSize, volume.FreeSize}});
  for (const auto& [name, info] : told.names) answer.rows.push_back({name, NumbersOf(info)});
  return answer;
}

}  // namespace runnel::test
