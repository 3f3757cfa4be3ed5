// An open file of the drive (open_files.h) beside what it should hold: a plain array of bytes. What the agent is told
// to commit is put together as the agent would, and must be those bytes too.
#ifndef RUNNEL_TEST_CPP_OVERLAY_MODEL_H_
#define RUNNEL_TEST_CPP_OVERLAY_MODEL_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/drive/content/open_files.h"

namespace runnel::drive {

inline void Must(bool is_so, const char* what) {
  if (!is_so) throw std::logic_error(what);
}

class OverlayModel {
 public:
  using Bytes = std::vector<uint8_t>;

  // `folder` is an empty one for overlay files. Of the base only [from, until) is here.
  OverlayModel(const std::string& folder, Bytes base, uint64_t from, uint64_t until) : bytes_(base) {
    settings_.overlay_folder = folder;
    settings_.overlay_prefix = "test";
    Entry entry;
    entry.node = kNode;
    entry.size_bytes = base.size();
    versions_[kFirst] = std::move(base);
    file_ = std::make_shared<File>(1, kNode, kFirst, ContentOf(kFirst, from, until), entry, settings_);
  }
  ~OverlayModel() {
    for (const std::string& path : handed_over_) unlink(path.c_str());
  }

  void Write(uint64_t offset, const Bytes& data) {
    size_t written = 0;
    const Kind error =
        file_->Write(reinterpret_cast<const char*>(data.data()), data.size(), offset, 1, false, &written);
    Must(error == Kind::kNone && written == data.size(), "everything is written");
    if (data.empty()) return;
    bytes_.resize(std::max<size_t>(bytes_.size(), offset + data.size()));
    std::copy(data.begin(), data.end(), bytes_.begin() + static_cast<ptrdiff_t>(offset));
  }

  void Truncate(uint64_t size) {
    Must(file_->Truncate(size, 1) == Kind::kNone, "it is cut");
    bytes_.resize(size);
  }

  void Punch(uint64_t offset, uint64_t length) {
    const Kind error =
        file_->Allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, std::max<uint64_t>(1, length), 1);
    if (error == Kind::kUnsupported) return;
    Must(error == Kind::kNone, "a hole is made");
    const uint64_t end = std::min<uint64_t>(bytes_.size(), offset + std::max<uint64_t>(1, length));
    if (offset < end)
      std::fill(bytes_.begin() + static_cast<ptrdiff_t>(offset), bytes_.begin() + static_cast<ptrdiff_t>(end), 0);
  }

  void BeginCommit() {
    Message message;
    message.id = ++last_commit_;
    if (file_->BeginCommit(&message, 0) != File::CommitStep::kBegun) return;
    Must(versions_.count(message.base_version) == 1, "the base is a version that was committed");
    Bytes committed = versions_[message.base_version];
    Must(message.base_bytes <= committed.size(), "no more of the base than there is");
    committed.resize(message.base_bytes);
    committed.resize(message.size_bytes);
    for (const LayerRanges& layer : message.layers) {
      handed_over_.push_back(layer.path);
      ReadLayer(layer, &committed);
    }
    Must(committed == bytes_, "what is committed is what the file holds");
    in_flight_ = std::move(committed);
    is_in_flight_ = true;
  }

  void EndCommit(bool succeeds) {
    if (!is_in_flight_) return;
    is_in_flight_ = false;
    Answer answer;
    answer.error = succeeds ? Kind::kNone : Kind::kIo;
    answer.version = succeeds ? ++last_version_ : 0;
    if (succeeds) versions_[last_version_] = std::move(in_flight_);
    file_->EndCommit(answer);
  }

  // The layers up to the version of this number, counted round, are merged into a new base.
  void Rebase(size_t which, uint64_t from, uint64_t until) {
    auto version = versions_.begin();
    std::advance(version, which % versions_.size());
    file_->Rebase(ContentOf(version->first, from, until));
  }

  void CheckReads(uint64_t offset, uint64_t length) const {
    Must(file_->GetState().size_bytes == bytes_.size(), "it has the size that it should have");
    File::Plan plan = file_->PlanRead(offset, length);
    Must(plan.Open() == Kind::kNone, "its files are there");
    const uint64_t end = std::min<uint64_t>(bytes_.size(), offset + length);
    Must(plan.size_bytes == (offset < end ? end - offset : 0), "as much as there is can be read");
    uint64_t at = offset;
    for (const File::Segment& segment : plan.segments) {
      Must(segment.offset == at && segment.length > 0, "segments follow each other");
      Must(BytesOf(plan, segment) == Bytes(bytes_.begin() + static_cast<ptrdiff_t>(at),
                                           bytes_.begin() + static_cast<ptrdiff_t>(at + segment.length)),
           "what is read is what was written");
      at += segment.length;
    }
    Must(plan.segments.empty() || at == end, "segments are all of it");
  }

  void CheckSeek(uint64_t offset) const {
    uint64_t found = 0;
    const Kind error = file_->Seek(offset, true, &found);
    if (offset >= bytes_.size()) return Must(error == Kind::kPastEnd, "there is no data past the end");
    const uint64_t until = error == Kind::kNone ? found : bytes_.size();
    Must(offset <= until && until <= bytes_.size(), "data lies ahead and within the file");
    Must(std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(offset), bytes_.begin() + static_cast<ptrdiff_t>(until),
                     [](uint8_t byte) { return byte == 0; }),
         "no data is left out");
  }

  uint64_t size() const { return bytes_.size(); }

 private:
  static constexpr uint64_t kNode = 5;
  static constexpr uint64_t kFirst = 1;

  ContentPtr ContentOf(uint64_t version, uint64_t from, uint64_t until) {
    const Bytes& bytes = versions_[version];
    UniqueFd fd(memfd_create("content", MFD_CLOEXEC));
    Must(fd.Get() >= 0 && write(fd.Get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
         "a content is made");
    contents_[++last_content_] = bytes;
    auto content = std::make_shared<Content>(last_content_, kNode, version, bytes.size(), std::string(), std::move(fd));
    until = std::min<uint64_t>(until, bytes.size());
    if (from < until) content->AddPresent({{from, until - from}});
    return content;
  }

  Bytes BytesOf(const File::Plan& plan, const File::Segment& segment) const {
    Bytes read(segment.length);
    if (segment.is_missing) {
      const Bytes& base = contents_.at(plan.base->id);
      Must(segment.offset + segment.length <= base.size(), "only what the base has can be missing");
      std::copy_n(base.begin() + static_cast<ptrdiff_t>(segment.offset), segment.length, read.begin());
    } else if (segment.fd != nullptr) {
      const ssize_t count = pread(segment.fd->Get(), read.data(), read.size(), static_cast<off_t>(segment.offset));
      Must(count == static_cast<ssize_t>(read.size()), "a segment's file has it");
    }
    return read;
  }

  static void ReadLayer(const LayerRanges& layer, Bytes* into) {
    const UniqueFd fd(open(layer.path.c_str(), O_RDONLY | O_CLOEXEC));
    Must(fd.Get() >= 0, "a layer has a file");
    for (const ByteRange& range : layer.extents) {
      Must(range.offset + range.length <= into->size(), "extents end within the file");
      const ssize_t count =
          pread(fd.Get(), into->data() + range.offset, range.length, static_cast<off_t>(range.offset));
      Must(count == static_cast<ssize_t>(range.length), "a layer's file has its extents");
    }
  }

  CoreSettings settings_;
  Bytes bytes_;
  Bytes in_flight_;
  bool is_in_flight_ = false;
  uint64_t last_commit_ = 0;
  uint64_t last_version_ = kFirst;
  uint64_t last_content_ = 0;
  std::map<uint64_t, Bytes> versions_;
  std::map<uint64_t, Bytes> contents_;
  std::vector<std::string> handed_over_;
  FilePtr file_;
};

// Takes numbers from the front of some bytes, 0 when there are no more.
class Numbers {
 public:
  Numbers(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool HasMore() const { return at_ < size_; }
  uint32_t Next() { return HasMore() ? data_[at_++] : 0; }
  uint32_t NextTwo() { return Next() << 8 | Next(); }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

// Does to a file what the bytes say, and looks at it after each step.
inline void PlayOverlay(const std::string& folder, const uint8_t* data, size_t size) {
  Numbers numbers(data, size);
  // Offsets in eighths of a block, so that borders of blocks are met.
  constexpr uint64_t kGrain = kBlockBytes / 8;
  OverlayModel::Bytes base(numbers.NextTwo() % (24 * kGrain));
  for (size_t i = 0; i < base.size(); ++i) base[i] = static_cast<uint8_t>(1 + i % 255);
  const uint64_t from = numbers.Next() * 64;
  OverlayModel model(folder, std::move(base), from, from + numbers.Next() * 64);
  for (int step = 0; numbers.HasMore() && step < 60; ++step) {
    const uint32_t what = numbers.Next() % 8;
    const uint64_t offset = numbers.Next() % 32 * kGrain + numbers.Next() % 3;
    const uint64_t length = numbers.Next() % 16 * kGrain + numbers.Next() % 3;
    if (what <= 2) model.Write(offset, OverlayModel::Bytes(length, static_cast<uint8_t>(step + 1)));
    if (what == 3) model.Truncate(offset);
    if (what == 4) model.Punch(offset, length);
    if (what == 5) model.BeginCommit();
    if (what == 6) model.EndCommit(length % 4 != 0);
    if (what == 7) model.Rebase(offset, 0, length % 2 == 0 ? UINT64_MAX : length);
    model.CheckReads(0, model.size() + 1);
    model.CheckReads(offset, length);
    model.CheckSeek(offset);
  }
}

}  // namespace runnel::drive

#endif  // RUNNEL_TEST_CPP_OVERLAY_MODEL_H_
