#include "early_record.h"

#include <cstring>
#include <utility>

namespace runnel::drive {
namespace {

// Fields of a message of a fixed length; the names follow, each behind its length.
struct Fixed {
  uint64_t node;
  uint64_t folder;
  uint64_t to_folder;
  int64_t answered_ns;
  int64_t mtime_ns;
  uint32_t uid;
  uint32_t gid;
  uint32_t mode;
  uint8_t op;
  uint8_t how;
  uint8_t set;
  uint8_t is_folder;
};

// Fields that a commit has besides.
struct FixedCommit {
  uint64_t base_version;
  uint64_t base_bytes;
  uint64_t size_bytes;
  uint64_t read_before;
  int64_t ctime_ns;
  uint64_t layers;  // behind it: the path of each, the number of its extents, and these
};

template <typename Value>
void AppendValue(std::string* record, const Value& value) {
  record->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename Value>
bool TakeValue(std::string_view* record, Value* value) {
  if (record->size() < sizeof(*value)) return false;
  std::memcpy(value, record->data(), sizeof(*value));
  record->remove_prefix(sizeof(*value));
  return true;
}

void AppendText(std::string* record, const std::string& text) {
  AppendValue(record, static_cast<uint16_t>(text.size()));
  record->append(text);
}

bool TakeText(std::string_view* record, std::string* text) {
  uint16_t bytes = 0;
  if (!TakeValue(record, &bytes) || record->size() < bytes) return false;
  text->assign(record->substr(0, bytes));
  record->remove_prefix(bytes);
  return true;
}

void AppendCommit(std::string* record, const Message& message) {
  FixedCommit fixed;
  std::memset(&fixed, 0, sizeof(fixed));
  fixed.base_version = message.base_version;
  fixed.base_bytes = message.base_bytes;
  fixed.size_bytes = message.size_bytes;
  fixed.read_before = message.read_before;
  fixed.ctime_ns = message.ctime_ns;
  fixed.layers = message.layers.size();
  AppendValue(record, fixed);
  for (const LayerRanges& layer : message.layers) {
    AppendText(record, layer.path);
    AppendValue(record, static_cast<uint64_t>(layer.extents.size()));
    for (const ByteRange& extent : layer.extents) AppendValue(record, extent);
  }
}

bool TakeCommit(std::string_view* record, Message* message) {
  FixedCommit fixed;
  if (!TakeValue(record, &fixed)) return false;
  message->base_version = fixed.base_version;
  message->base_bytes = fixed.base_bytes;
  message->size_bytes = fixed.size_bytes;
  message->read_before = fixed.read_before;
  message->ctime_ns = fixed.ctime_ns;
  for (uint64_t left = fixed.layers; left > 0; --left) {
    LayerRanges layer;
    uint64_t extents = 0;
    if (!TakeText(record, &layer.path) || !TakeValue(record, &extents)) return false;
    for (; extents > 0; --extents) {
      ByteRange extent;
      if (!TakeValue(record, &extent)) return false;
      layer.extents.push_back(extent);
    }
    message->layers.push_back(std::move(layer));
  }
  return true;
}

bool MayBeEarly(Op op) {
  return op == Op::kMake || op == Op::kLink || op == Op::kRemove || op == Op::kRename || op == Op::kSetattr ||
         op == Op::kCommit;
}

}  // namespace

std::string EncodeEarly(const Message& message) {
  Fixed fixed;
  std::memset(&fixed, 0, sizeof(fixed));
  fixed.node = message.node;
  fixed.folder = message.folder;
  fixed.to_folder = message.to_folder;
  fixed.answered_ns = message.answered_ns;
  fixed.mtime_ns = message.mtime_ns;
  fixed.uid = message.caller.uid;
  fixed.gid = message.caller.gid;
  fixed.mode = message.mode;
  fixed.op = static_cast<uint8_t>(message.op);
  fixed.how = static_cast<uint8_t>(message.how);
  fixed.set = message.set;
  fixed.is_folder = message.is_folder ? 1 : 0;
  std::string record;
  AppendValue(&record, fixed);
  AppendText(&record, message.name);
  AppendText(&record, message.to_name);
  if (message.op == Op::kCommit) AppendCommit(&record, message);
  return record;
}

std::optional<Message> DecodeEarly(std::string_view record) {
  Fixed fixed;
  if (!TakeValue(&record, &fixed)) return std::nullopt;
  Message message;
  message.op = static_cast<Op>(fixed.op);
  message.how = static_cast<RenameHow>(fixed.how);
  message.set = fixed.set;
  message.is_folder = fixed.is_folder != 0;
  message.type = message.is_folder ? FileType::kFolder : FileType::kFile;
  message.node = fixed.node;
  message.folder = fixed.folder;
  message.to_folder = fixed.to_folder;
  message.answered_ns = fixed.answered_ns;
  message.mtime_ns = fixed.mtime_ns;
  message.mode = fixed.mode;
  message.caller.uid = fixed.uid;
  message.caller.gid = fixed.gid;
  const bool is_whole = MayBeEarly(message.op) && message.how <= RenameHow::kExchange &&
                        TakeText(&record, &message.name) && TakeText(&record, &message.to_name) &&
                        (message.op != Op::kCommit || TakeCommit(&record, &message));
  if (!is_whole) return std::nullopt;
  return message;
}

}  // namespace runnel::drive
