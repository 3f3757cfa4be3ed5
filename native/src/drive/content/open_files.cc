#include "open_files.h"

#include <algorithm>

#include "overlay_file.h"
#include "src/file/file.h"

namespace runnel::drive {
namespace {

std::atomic<uint64_t> next_overlay{1};
// A file with more dirty extents than that is not looked through for what of its base still shows.
constexpr size_t kExtentsLookedAt = 256;

// Bytes of a segment that are in no hole of its file, so far as kExtentsLookedAt looks tell.
uint64_t DataBytes(const File::Segment& segment, size_t* looks) {
  uint64_t bytes = 0;
  uint64_t left = segment.fd == nullptr ? 0 : segment.length;
  while (left > 0) {
    Extent extent{false, left};
    if (++*looks <= kExtentsLookedAt)
      extent = ExtentAt(segment.fd->Get(), segment.offset + segment.length - left, left);
    if (!extent.is_hole) bytes += extent.length;
    left -= extent.length;
  }
  return bytes;
}

// The next data of a plan from an offset on: what is not here counts as data. `index` is of the segment it is in. False
// when there is none.
bool NextData(const File::Plan& plan, size_t* index, uint64_t from, ByteRange* data) {
  for (; *index < plan.segments.size(); ++*index) {
    const File::Segment& segment = plan.segments[*index];
    const uint64_t end = segment.offset + segment.length;
    uint64_t at = std::max(from, segment.offset);
    if (at >= end || (segment.fd == nullptr && !segment.is_missing)) continue;
    uint64_t until = end;
    if (!segment.is_missing) {
      Extent extent = ExtentAt(segment.fd->Get(), at, end - at);
      if (extent.is_hole) {
        at += extent.length;
        if (at >= end) continue;
        extent = ExtentAt(segment.fd->Get(), at, end - at);
      }
      until = at + extent.length;
    }
    *data = {at, until - at};
    return true;
  }
  return false;
}

}  // namespace

Layer::~Layer() {
  if (file != nullptr && !is_handed_over) RemoveOverlayFile(file->path());
}

Kind File::Plan::Open() {
  for (Segment& segment : segments) {
    if (segment.file == nullptr) continue;
    if (const Kind error = segment.file->Use(&segment.fd); error != Kind::kNone) return error;
  }
  return Kind::kNone;
}

File::File(uint64_t id, uint64_t node, uint64_t version, ContentPtr base, Entry entry, const CoreSettings& settings)
    : id(id),
      node(node),
      entry(std::move(entry)),
      settings_(settings),
      base_(std::move(base)),
      base_bytes_(base_ ? base_->size_bytes : 0),
      opened_bytes_(version == 0 ? 0 : this->entry.size_bytes),
      size_bytes_(base_bytes_),
      mtime_ns_(this->entry.mtime_ns),
      ctime_ns_(this->entry.ctime_ns),
      version_(version) {}

File::State File::GetState() const {
  std::lock_guard lock(mutex_);
  return {size_bytes_, mtime_ns_, ctime_ns_, version_, NeedsCommitLocked() || commit_ != 0};
}

uint64_t File::AllocatedBytes() const {
  std::vector<std::shared_ptr<Layer>> layers;
  ContentPtr base;
  uint64_t size_bytes = 0;
  size_t extents = 0;
  {
    std::lock_guard lock(mutex_);
    layers = frozen_;
    if (active_ != nullptr) layers.push_back(active_);
    for (const auto& layer : layers) extents += layer->extents.Count();
    if (base_bytes_ > 0) base = base_;
    size_bytes = size_bytes_;
  }
  uint64_t allocated_bytes = base == nullptr ? 0 : base->AllocatedBytes();
  for (const auto& layer : layers) allocated_bytes += layer->file == nullptr ? 0 : layer->file->AllocatedBytes();
  const bool is_one_file = layers.size() + (base == nullptr ? 0 : 1) == 1;
  if (!is_one_file && extents <= kExtentsLookedAt) {
    // Only what shows of each counts.
    Plan plan = PlanRead(0, size_bytes);
    if (plan.Open() != Kind::kNone) return WholeBlocks(size_bytes);
    size_t looks = 0;
    allocated_bytes = 0;
    for (const Segment& segment : plan.segments)
      allocated_bytes += segment.is_missing ? segment.length : DataBytes(segment, &looks);
    allocated_bytes = WholeBlocks(allocated_bytes);
  }
  return std::min(allocated_bytes, WholeBlocks(size_bytes));
}

File::Plan File::PlanRead(uint64_t offset, uint64_t length) const {
  Plan plan;
  std::lock_guard lock(mutex_);
  if (offset >= size_bytes_) return plan;
  const uint64_t end = std::min(size_bytes_, offset + length);
  plan.size_bytes = end - offset;
  plan.base = base_;
  for (uint64_t at = offset; at < end;) {
    Segment segment;
    segment.offset = at;
    uint64_t until = end;
    const Layer* source = nullptr;
    for (size_t i = frozen_.size() + 1; i-- > 0 && source == nullptr;) {
      const std::shared_ptr<Layer>& layer = i == frozen_.size() ? active_ : frozen_[i];
      if (layer == nullptr || layer->extents.IsEmpty()) continue;
      const ExtentMap::Run run = layer->extents.At(at, until);
      until = run.until;
      if (!run.is_inside) continue;
      source = layer.get();
      if (plan.layers.empty() || plan.layers.back() != layer) plan.layers.push_back(layer);
    }
    if (source != nullptr) {
      segment.file = source->file.get();
    } else if (base_ != nullptr && at < base_bytes_) {
      until = std::min(until, base_bytes_);
      const ExtentMap::Run run = base_->PresentAt(at, until);
      until = run.until;
      if (run.is_inside) {
        segment.file = &base_->file;
      } else {
        if (plan.missing_end == 0) plan.missing_offset = at;
        plan.missing_end = until;
        segment.is_missing = true;
      }
    }
    segment.length = until - at;
    plan.segments.push_back(std::move(segment));
    at = until;
  }
  return plan;
}

Kind File::Seek(uint64_t offset, bool wants_data, uint64_t* found) const {
  const uint64_t size_bytes = GetState().size_bytes;
  if (offset >= size_bytes) return Kind::kPastEnd;
  const uint64_t block = offset / kBlockBytes * kBlockBytes;
  Plan plan = PlanRead(block, size_bytes - block);
  if (const Kind error = plan.Open(); error != Kind::kNone) return error;
  uint64_t hole = block;  // nothing of the block there is known to be data
  size_t index = 0;
  for (ByteRange data{block, 0}; NextData(plan, &index, data.offset + data.length, &data);) {
    const uint64_t first = data.offset / kBlockBytes * kBlockBytes;
    if (wants_data) {
      *found = std::max(offset, first);
      return Kind::kNone;
    }
    if (first > hole) break;
    hole = WholeBlocks(data.offset + data.length);
  }
  *found = std::min(std::max(offset, hole), block + plan.size_bytes);
  return wants_data ? Kind::kPastEnd : Kind::kNone;
}

// Gives, in a turn, the overlay that the next write goes to, made when there is none.
Kind File::EnsureActive(SharedFd* fd) {
  std::shared_ptr<Layer> layer;
  {
    std::lock_guard lock(mutex_);
    layer = active_;
  }
  if (layer == nullptr) {
    std::string path =
        settings_.overlay_folder + "/" + settings_.overlay_prefix + "-" + std::to_string(next_overlay.fetch_add(1));
    UniqueFd made;
    const Kind error = PooledFile::OpenReclaiming([&path](int* to) { return MakeOverlayFile(path, to); }, &made);
    if (error != Kind::kNone) return error == Kind::kNoSpace || error == Kind::kQuota ? error : Kind::kIo;
    layer = std::make_shared<Layer>();
    layer->file = std::make_unique<PooledFile>(std::move(path), true, std::move(made));
    std::lock_guard lock(mutex_);
    active_ = layer;
  }
  return layer->file->Use(fd) == Kind::kNone ? Kind::kNone : Kind::kIo;
}

Kind File::Write(const char* data, size_t size, uint64_t offset, int64_t now_ns, bool must_be_whole, size_t* written) {
  *written = 0;
  if (size == 0) return Kind::kNone;
  if (offset > kFileBytesMax || size > kFileBytesMax - offset) return Kind::kTooLarge;
  const Turns::Turn turn(&turns_);
  SharedFd fd;
  Kind error = EnsureActive(&fd);
  if (error == Kind::kNone) error = WriteOverlay(fd->Get(), offset, data, size, written);
  std::lock_guard lock(mutex_);
  if (*written > 0 && !must_be_whole) error = Kind::kNone;
  write_error_ = error;
  if (*written == 0) return error;
  active_->extents.Add(offset, *written);
  size_bytes_ = std::max(size_bytes_, offset + *written);
  mtime_ns_ = ctime_ns_ = now_ns;
  is_dirty_ = true;
  return error;
}

Kind File::Truncate(uint64_t size_bytes, int64_t now_ns) {
  if (size_bytes > kFileBytesMax) return Kind::kTooLarge;
  const Turns::Turn turn(&turns_);
  Cut(size_bytes, now_ns);
  return Kind::kNone;
}

void File::Cut(uint64_t size_bytes, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  if (size_bytes < size_bytes_) {
    if (active_) active_->extents.Cut(size_bytes);
    for (const auto& layer : frozen_) {
      layer->extents.Cut(size_bytes);
      layer->floor_bytes = std::min(layer->floor_bytes, size_bytes);
    }
    base_bytes_ = std::min(base_bytes_, size_bytes);
  }
  size_bytes_ = size_bytes;
  mtime_ns_ = ctime_ns_ = now_ns;
  is_dirty_ = true;
  write_error_ = Kind::kNone;
}

Kind File::Allocate(int mode, uint64_t offset, uint64_t length, int64_t now_ns) {
  const bool keeps_size = (mode & kAllocateKeepsSize) != 0;
  const bool zeroes = (mode & (kAllocateHole | kAllocateZeros)) != 0;
  if ((mode & ~(kAllocateKeepsSize | kAllocateHole | kAllocateZeros)) != 0) return Kind::kUnsupported;
  if (offset > kFileBytesMax || length > kFileBytesMax - offset) return Kind::kTooLarge;
  const Turns::Turn turn(&turns_);
  SharedFd active;
  if (const Kind error = EnsureActive(&active); error != Kind::kNone) return error;
  const int fd = active->Get();
  const uint64_t end = offset + length;
  uint64_t size_bytes = GetState().size_bytes;
  if (!zeroes) {
    // Space is reserved in the overlay, as far as its file system can.
    if (const Kind error = ReserveOverlay(fd, offset, length); error != Kind::kNone) return error;
  }
  if (!keeps_size) size_bytes = std::max(size_bytes, end);
  const uint64_t zero_end = std::min(end, size_bytes);
  const bool has_zeroes = zeroes && offset < zero_end;
  if (has_zeroes) {
    // A hole of the overlay, inside its length, so that it reads as zeros.
    if (const Kind error = ZeroOverlay(fd, offset, zero_end); error != Kind::kNone) return error;
  }
  std::lock_guard lock(mutex_);
  if (!has_zeroes && size_bytes == size_bytes_) return Kind::kNone;
  if (has_zeroes) active_->extents.Add(offset, zero_end - offset);
  size_bytes_ = size_bytes;
  mtime_ns_ = ctime_ns_ = now_ns;
  is_dirty_ = true;
  return Kind::kNone;
}

bool File::SetMtimeIfDirty(int64_t mtime_ns, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  if (!NeedsCommitLocked() && commit_ == 0) return false;
  mtime_ns_ = mtime_ns;
  ctime_ns_ = now_ns;
  is_dirty_ = true;
  return true;
}

void File::SetMtime(int64_t mtime_ns) {
  std::lock_guard lock(mutex_);
  mtime_ns_ = mtime_ns;
}

bool File::NeedsCommitLocked() const {
  if (is_dirty_) return true;
  for (const auto& layer : frozen_) {
    if (layer->version == 0 && !layer->is_in_flight) return true;
  }
  return false;
}

bool File::NeedsCommit() const {
  std::lock_guard lock(mutex_);
  return NeedsCommitLocked();
}

bool File::HasChanged() const {
  std::lock_guard lock(mutex_);
  return is_dirty_;
}

Kind File::WriteError() const {
  std::lock_guard lock(mutex_);
  return OnlyAddsLocked() ? Kind::kNone : write_error_;
}

// Returns true while every byte of the version still shows.
bool File::OnlyAddsLocked() const {
  const uint64_t version_bytes = base_ != nullptr ? base_->size_bytes : opened_bytes_;
  if (!frozen_.empty() || base_bytes_ != version_bytes || size_bytes_ < version_bytes) return false;
  if (active_ == nullptr) return true;
  for (const ByteRange& range : active_->extents.Ranges()) {
    if (range.offset < version_bytes) return false;
  }
  return true;
}

bool File::IsCommitting() const {
  std::lock_guard lock(mutex_);
  return commit_ != 0;
}

File::CommitStep File::BeginCommit(Message* message, uint64_t waiter) {
  std::lock_guard lock(mutex_);
  if (commit_ != 0) {
    if (waiter != 0) commit_waiters_.push_back(waiter);
    return CommitStep::kWaits;
  }
  if (!NeedsCommitLocked()) return CommitStep::kClean;
  if (is_dirty_) {
    // A change of size or times alone makes a layer without a file, so that its commit has a place in the list.
    std::shared_ptr<Layer> layer = active_ != nullptr ? std::move(active_) : std::make_shared<Layer>();
    active_ = nullptr;
    layer->floor_bytes = size_bytes_;
    frozen_.push_back(std::move(layer));
    is_dirty_ = false;
  }
  message->op = Op::kCommit;
  message->file = id;
  message->node = node;
  message->content = base_ ? base_->id : 0;
  message->base_version = version_;
  message->base_bytes = base_bytes_;
  message->size_bytes = size_bytes_;
  message->mtime_ns = mtime_ns_;
  message->ctime_ns = ctime_ns_;
  for (const auto& layer : frozen_) {
    if (layer->version != 0) {  // part of base_version, whether merged into the base yet or not
      message->base_bytes = layer->floor_bytes;
      continue;
    }
    layer->is_in_flight = true;
    layer->commit = message->id;
    if (layer->file == nullptr) continue;
    layer->is_handed_over = true;
    message->layers.push_back({layer->file->path(), layer->extents.Ranges()});
  }
  commit_ = message->id;
  if (waiter != 0) commit_waiters_.push_back(waiter);
  return CommitStep::kBegun;
}

void File::KeepInFlight() {
  std::vector<std::shared_ptr<Layer>> layers;
  {
    std::lock_guard lock(mutex_);
    for (const auto& layer : frozen_) {
      if (layer->is_in_flight && layer->file != nullptr) layers.push_back(layer);
    }
  }
  for (const auto& layer : layers) layer->file->Pin();
}

std::vector<uint64_t> File::EndCommit(const Answer& answer) {
  std::lock_guard lock(mutex_);
  for (const auto& layer : frozen_) {
    if (!layer->is_in_flight) continue;
    layer->is_in_flight = false;
    if (answer.is_version()) layer->version = answer.version;
  }
  if (answer.is_version()) version_ = answer.version;
  commit_ = 0;
  return std::exchange(commit_waiters_, {});
}

bool File::Saved(uint64_t commit, uint64_t version) {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (size_t i = 0; i < frozen_.size(); ++i) {
    if (frozen_[i]->commit == commit && !frozen_[i]->is_in_flight) count = i + 1;
  }
  if (count == 0) return false;
  for (size_t i = 0; i < count; ++i) frozen_[i]->version = version;
  const bool is_last = std::all_of(frozen_.begin() + static_cast<ptrdiff_t>(count), frozen_.end(),
                                   [](const auto& layer) { return layer->version == 0; });
  if (is_last) version_ = version;
  return true;
}

bool File::JoinLayers(const std::vector<std::string>& overlays, std::unique_ptr<PooledFile> joined) {
  std::vector<std::shared_ptr<Layer>> former;  // let go outside the lock
  auto layer = std::make_shared<Layer>();
  const auto is_one = [&overlays](const std::shared_ptr<Layer>& each) {
    return each->file != nullptr && std::find(overlays.begin(), overlays.end(), each->file->path()) != overlays.end();
  };
  std::lock_guard lock(mutex_);
  const auto first = std::find_if(frozen_.begin(), frozen_.end(), is_one);
  if (first == frozen_.end()) return false;
  const auto end = std::find_if(frozen_.rbegin(), frozen_.rend(), is_one).base();
  for (auto at = first; at != end; ++at) {
    const Layer& each = **at;
    // Only the size or times were changed by one without a file.
    if (each.version == 0 || each.is_in_flight || (each.file != nullptr && !is_one(*at))) return false;
    for (const ByteRange& range : each.extents.Ranges()) layer->extents.Add(range.offset, range.length);
  }
  if (joined == nullptr && !layer->extents.IsEmpty()) return false;
  const Layer& last = **(end - 1);
  layer->file = std::move(joined);
  layer->floor_bytes = last.floor_bytes;
  layer->version = last.version;
  layer->commit = last.commit;
  layer->is_handed_over = true;
  former.assign(first, end);
  *first = layer;
  frozen_.erase(first + 1, end);
  return true;
}

bool File::LeaveCommit(uint64_t waiter, uint64_t* commit) {
  std::lock_guard lock(mutex_);
  *commit = commit_;
  std::erase(commit_waiters_, waiter);
  return commit_ != 0 && commit_waiters_.empty();
}

bool File::Rebase(ContentPtr content) {
  std::vector<std::shared_ptr<Layer>> merged;  // let go outside the lock
  std::lock_guard lock(mutex_);
  ptrdiff_t count = 0;
  for (size_t i = 0; i < frozen_.size(); ++i) {
    if (frozen_[i]->version == content->version) count = static_cast<ptrdiff_t>(i) + 1;
  }
  if (count == 0) {
    // The same bytes under another id, or nothing that this file knows of.
    if (base_ == nullptr || base_->version != content->version) return false;
    base_bytes_ = std::min(base_bytes_, content->size_bytes);
  } else {
    base_bytes_ = std::min(frozen_[count - 1]->floor_bytes, content->size_bytes);
    merged.assign(frozen_.begin(), frozen_.begin() + count);
    frozen_.erase(frozen_.begin(), frozen_.begin() + count);
  }
  base_ = std::move(content);
  return true;
}

ContentPtr File::Base() const {
  std::lock_guard lock(mutex_);
  return base_;
}

void File::LeaveBase() {
  ContentPtr base;  // let go outside the lock
  std::lock_guard lock(mutex_);
  std::swap(base, base_);
}

}  // namespace runnel::drive
