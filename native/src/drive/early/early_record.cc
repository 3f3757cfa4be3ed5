#include "early_record.h"

#include <cstring>

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

void AppendText(std::string* record, const std::string& text) {
  const auto bytes = static_cast<uint16_t>(text.size());
  record->append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  record->append(text);
}

bool TakeText(std::string_view* record, std::string* text) {
  uint16_t bytes = 0;
  if (record->size() < sizeof(bytes)) return false;
  std::memcpy(&bytes, record->data(), sizeof(bytes));
  record->remove_prefix(sizeof(bytes));
  if (record->size() < bytes) return false;
  text->assign(record->substr(0, bytes));
  record->remove_prefix(bytes);
  return true;
}

bool MayBeEarly(Op op) { return op == Op::kRemove || op == Op::kRename || op == Op::kSetattr; }

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
  std::string record(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
  AppendText(&record, message.name);
  AppendText(&record, message.to_name);
  return record;
}

std::optional<Message> DecodeEarly(std::string_view record) {
  Fixed fixed;
  if (record.size() < sizeof(fixed)) return std::nullopt;
  std::memcpy(&fixed, record.data(), sizeof(fixed));
  record.remove_prefix(sizeof(fixed));
  Message message;
  message.op = static_cast<Op>(fixed.op);
  message.how = static_cast<RenameHow>(fixed.how);
  message.set = fixed.set;
  message.is_folder = fixed.is_folder != 0;
  message.node = fixed.node;
  message.folder = fixed.folder;
  message.to_folder = fixed.to_folder;
  message.answered_ns = fixed.answered_ns;
  message.mtime_ns = fixed.mtime_ns;
  message.mode = fixed.mode;
  message.caller.uid = fixed.uid;
  message.caller.gid = fixed.gid;
  const bool is_whole = MayBeEarly(message.op) && message.how <= RenameHow::kExchange &&
                        TakeText(&record, &message.name) && TakeText(&record, &message.to_name);
  if (!is_whole) return std::nullopt;
  return message;
}

}  // namespace runnel::drive
