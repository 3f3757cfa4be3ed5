#include "content.h"

#include <algorithm>

namespace runnel::drive {

ExtentMap::Run Content::PresentAt(uint64_t offset, uint64_t end) const {
  std::lock_guard lock(mutex_);
  return present_.At(offset, end);
}

void Content::AddPresent(const std::vector<ByteRange>& ranges) {
  std::lock_guard lock(mutex_);
  for (const ByteRange& range : ranges) present_.Add(range.offset, range.length);
  allocated_bytes_.reset();
}

bool Content::IsSame(const Content& other) const {
  return id == other.id && node == other.node && version == other.version && size_bytes == other.size_bytes;
}

void Content::AddPresentOf(const Content& other) {
  std::unique_lock lock(other.mutex_);
  const std::vector<ByteRange> ranges = other.present_.Ranges();
  lock.unlock();
  AddPresent(ranges);
}

uint64_t Content::AllocatedBytes() const {
  std::lock_guard lock(mutex_);
  if (!allocated_bytes_.has_value()) {
    uint64_t missing_bytes = size_bytes;
    for (const ByteRange& range : present_.Ranges()) missing_bytes -= range.length;
    allocated_bytes_ = file.AllocatedBytes() + missing_bytes;
  }
  return *allocated_bytes_;
}

bool Content::JoinFetch(uint64_t offset, uint64_t end, uint64_t waiter, uint64_t ask, bool* is_present) {
  std::lock_guard lock(mutex_);
  const ExtentMap::Run run = present_.At(offset, end);
  *is_present = run.is_inside && run.until >= end;
  if (*is_present) return true;
  for (Fetch& fetch : fetches_) {
    if (fetch.offset > offset || fetch.end < end) continue;
    fetch.waiters.push_back(waiter);
    return true;
  }
  fetches_.push_back({ask, offset, end, {waiter}});
  return false;
}

std::vector<uint64_t> Content::EndFetch(uint64_t ask) {
  std::lock_guard lock(mutex_);
  for (auto at = fetches_.begin(); at != fetches_.end(); ++at) {
    if (at->ask != ask) continue;
    std::vector<uint64_t> waiters = std::move(at->waiters);
    fetches_.erase(at);
    return waiters;
  }
  return {};
}

uint64_t Content::LeaveFetch(uint64_t waiter) {
  std::lock_guard lock(mutex_);
  for (auto at = fetches_.begin(); at != fetches_.end(); ++at) {
    auto found = std::find(at->waiters.begin(), at->waiters.end(), waiter);
    if (found == at->waiters.end()) continue;
    at->waiters.erase(found);
    if (!at->waiters.empty()) return 0;
    const uint64_t ask = at->ask;
    fetches_.erase(at);
    return ask;
  }
  return 0;
}

void ContentTable::Put(ContentPtr content) {
  const uint64_t id = content->id;
  const uint64_t node = content->node;
  if (const ContentPtr there = Find(id); there != nullptr && there->IsSame(*content))
    return there->AddPresentOf(*content);
  if (contents_.insert_or_assign(id, std::move(content)).second) of_node_.emplace(node, id);
}

ContentPtr ContentTable::Find(uint64_t id) const {
  auto at = contents_.find(id);
  return at == contents_.end() ? nullptr : at->second;
}

ContentPtr ContentTable::FindVersion(uint64_t node, uint64_t version) const {
  for (auto [at, end] = of_node_.equal_range(node); at != end; ++at) {
    ContentPtr content = Find(at->second);
    if (content != nullptr && content->version == version) return content;
  }
  return nullptr;
}

bool ContentTable::Drop(uint64_t id) {
  auto found = contents_.find(id);
  if (found == contents_.end()) return true;
  if (found->second.use_count() > 1) return false;
  Erase(id);
  return true;
}

void ContentTable::Erase(uint64_t id) {
  auto found = contents_.find(id);
  if (found == contents_.end()) return;
  const uint64_t node = found->second->node;
  for (auto [at, end] = of_node_.equal_range(node); at != end; ++at) {
    if (at->second == id) {
      of_node_.erase(at);
      break;
    }
  }
  contents_.erase(found);
}

}  // namespace runnel::drive
