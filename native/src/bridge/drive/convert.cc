#include "convert.h"

#include <string_view>

namespace runnel::bridge {
namespace {

using drive::Message;
using drive::Op;

constexpr size_t kNumbers = 11;
constexpr size_t kTimes = 2;

const char* NameOf(drive::FileType type) {
  static constexpr const char* kNames[] = {"file", "folder", "symlink", "fifo", "socket", "block", "char"};
  return kNames[static_cast<size_t>(type)];
}

// Sets a property without node-addon-api's temporaries: requests are made on the path of every miss.
class Setter {
 public:
  Setter(Napi::Env env, Napi::Object object) : env_(env), object_(object) {}
  void Number(const char* name, double value) {
    napi_value made;
    napi_create_double(env_, value, &made);
    napi_set_named_property(env_, object_, name, made);
  }
  void Id(const char* name, uint64_t value) { Number(name, static_cast<double>(value)); }
  void Bool(const char* name, bool value) {
    napi_value made;
    napi_get_boolean(env_, value, &made);
    napi_set_named_property(env_, object_, name, made);
  }
  void String(const char* name, std::string_view value) {
    napi_value made;
    napi_create_string_utf8(env_, value.data(), value.size(), &made);
    napi_set_named_property(env_, object_, name, made);
  }
  void Time(const char* name, int64_t value) {
    napi_value made;
    napi_create_bigint_int64(env_, value, &made);
    napi_set_named_property(env_, object_, name, made);
  }
  void Value(const char* name, napi_value value) { napi_set_named_property(env_, object_, name, value); }

 private:
  const Napi::Env env_;
  const Napi::Object object_;
};

Napi::Array LayersOf(Napi::Env env, const Message& message) {
  Napi::Array layers = Napi::Array::New(env, message.layers.size());
  for (uint32_t i = 0; i < message.layers.size(); ++i) {
    const drive::LayerRanges& layer = message.layers[i];
    Napi::Array extents = Napi::Array::New(env, layer.extents.size());
    for (uint32_t j = 0; j < layer.extents.size(); ++j) {
      Napi::Object extent = Napi::Object::New(env);
      Setter set(env, extent);
      set.Id("offset", layer.extents[j].offset);
      set.Id("length", layer.extents[j].length);
      extents.Set(j, extent);
    }
    Napi::Object made = Napi::Object::New(env);
    Setter set(env, made);
    set.String("path", layer.path);
    set.Value("extents", extents);
    layers.Set(i, made);
  }
  return layers;
}

void SetCommit(Napi::Env env, const Message& message, Setter& set) {
  static constexpr const char* kReasons[] = {"flush", "fsync", "release"};
  set.String("reason", kReasons[static_cast<size_t>(message.reason)]);
  set.Id("file", message.file);
  set.Id("baseContent", message.content);
  set.Id("baseVersion", message.base_version);
  set.Id("baseBytes", message.base_bytes);
  set.Id("readBefore", message.read_before);
  set.Id("sizeBytes", message.size_bytes);
  set.Time("mtimeNs", message.mtime_ns);
  set.Time("ctimeNs", message.ctime_ns);
  set.Value("layers", LayersOf(env, message));
}

void SetAttributes(const Message& message, Setter& set) {
  if (message.set & Message::kMode) set.Number("mode", message.mode);
  if (message.set & Message::kUid) set.Number("uid", message.uid);
  if (message.set & Message::kGid) set.Number("gid", message.gid);
  if (message.set & Message::kMtime) set.Time("mtimeNs", message.mtime_ns);
  if (message.set & Message::kSize) set.Id("sizeBytes", message.size_bytes);
}

}  // namespace

uint64_t IdOf(const Napi::Value& value) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number < 18014398509481984.0)) {  // 2^54
    throw Napi::TypeError::New(value.Env(), "a number that is an id or a length is needed");
  }
  return static_cast<uint64_t>(number);
}

PackedEntries Unpack(const Napi::Value& numbers, const Napi::Value& times, const Napi::Value& strings, uint32_t count) {
  const auto number_array = numbers.As<Napi::Float64Array>();
  const auto time_array = times.As<Napi::BigInt64Array>();
  const std::string text = strings.As<Napi::String>().Utf8Value();
  if (number_array.ElementLength() < count * kNumbers || time_array.ElementLength() < count * kTimes) {
    throw Napi::RangeError::New(numbers.Env(), "packed entries are short");
  }
  const double* number = number_array.Data();
  const int64_t* time = time_array.Data();
  std::string_view rest = text;
  const auto next_string = [&] {
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) throw Napi::RangeError::New(numbers.Env(), "packed entries lack a string");
    const std::string_view found = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return found;
  };
  PackedEntries packed;
  packed.items.resize(count);
  for (PackedEntries::Item& item : packed.items) {
    drive::Entry& entry = item.entry;
    item.folder = static_cast<uint64_t>(number[0]);
    entry.node = static_cast<uint64_t>(number[1]);
    item.is_absent = entry.node == 0;
    entry.type = static_cast<drive::FileType>(std::min(6.0, number[2]));
    entry.mode = static_cast<uint32_t>(number[3]);
    entry.uid = static_cast<uint32_t>(number[4]);
    entry.gid = static_cast<uint32_t>(number[5]);
    entry.size_bytes = static_cast<uint64_t>(number[6]);
    entry.nlink = static_cast<uint32_t>(number[7]);
    entry.rdev = static_cast<uint32_t>(number[8]);
    entry.version = static_cast<uint64_t>(number[9]);
    entry.xattrs = static_cast<uint64_t>(number[10]);
    entry.mtime_ns = time[0];
    entry.ctime_ns = time[1];
    item.name = next_string();
    entry.target = next_string();
    number += kNumbers;
    time += kTimes;
  }
  return packed;
}

std::vector<drive::ByteRange> RangesOf(const Napi::Value& pairs) {
  const auto array = pairs.As<Napi::Float64Array>();
  std::vector<drive::ByteRange> ranges(array.ElementLength() / 2);
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i] = {static_cast<uint64_t>(array[2 * i]), static_cast<uint64_t>(array[2 * i + 1])};
  }
  return ranges;
}

Napi::Object ToObject(Napi::Env env, const Message& message) {
  static constexpr const char* kHow[] = {"replace", "keep", "exchange"};
  static constexpr const char* kXattrHow[] = {"any", "create", "replace", "remove"};
  Napi::Object caller = Napi::Object::New(env);
  Setter set_caller(env, caller);
  set_caller.Number("uid", message.caller.uid);
  set_caller.Number("gid", message.caller.gid);
  set_caller.Number("pid", message.caller.pid);
  Napi::Object object = Napi::Object::New(env);
  Setter set(env, object);
  set.Id("id", message.id);
  set.String("op", drive::NameOf(message.op));
  set.Value("caller", caller);
  // Fields that a request is not about are 0 or empty.
  if (message.node != 0) set.Id("node", message.node);
  if (message.folder != 0) set.Id("folder", message.folder);
  if (!message.name.empty()) set.String("name", message.name);
  if (message.answered_ns != 0) {
    set.Time("answeredNs", message.answered_ns);
    set.Id("earlyNumber", message.early_number);
  }
  switch (message.op) {
    case Op::kOpen:
      set.Bool("wantsWrite", message.wants_write);
      set.Bool("truncates", message.truncates);
      break;
    case Op::kCreate:
      set.Number("mode", message.mode);
      set.Bool("isExclusive", message.is_exclusive);
      break;
    case Op::kMake:
      set.String("type", NameOf(message.type));
      set.Number("mode", message.mode);
      set.Number("rdev", message.rdev);
      set.String("target", message.target);
      break;
    case Op::kRemove: set.Bool("isFolder", message.is_folder); break;
    case Op::kRename:
      set.Id("toFolder", message.to_folder);
      set.String("toName", message.to_name);
      set.String("how", kHow[static_cast<size_t>(message.how)]);
      break;
    case Op::kSetattr: SetAttributes(message, set); break;
    case Op::kFetch:
      set.Id("content", message.content);
      set.Id("offset", message.offset);
      set.Id("length", message.length);
      set.Id("ahead", message.ahead);
      break;
    case Op::kSetxattr:
      set.String("how", kXattrHow[static_cast<size_t>(message.how_xattr)]);
      set.Value("value", Napi::Buffer<char>::Copy(env, message.value.data(), message.value.size()));
      break;
    case Op::kCommit: SetCommit(env, message, set); break;
    default: break;
  }
  return object;
}

Napi::Object ToObject(Napi::Env env, const drive::Notice& notice) {
  static constexpr const char* kNames[] = {"interrupted", "closed", "unmounted", "ready", "ended", "committed"};
  Napi::Object object = Napi::Object::New(env);
  Setter set(env, object);
  set.String("op", kNames[notice.type]);
  if (notice.type == drive::Notice::kInterrupted) set.Id("id", notice.id);
  if (notice.type == drive::Notice::kClosed) {
    set.Id("file", notice.id);
    set.Id("node", notice.node);
  }
  if (notice.type == drive::Notice::kUnmounted) set.String("reason", notice.reason);
  if (notice.type == drive::Notice::kEnded) {
    set.Bool("isDone", notice.id != 0);
    set.String("problem", notice.reason);
  }
  if (notice.type == drive::Notice::kCommitted) {
    set.Id("ticket", notice.id);
    set.String("kind", drive::NameOf(notice.error));
  }
  return object;
}

Napi::Object ToObject(Napi::Env env, const drive::Statistics& statistics) {
  Napi::Object native = Napi::Object::New(env);
  Napi::Object passed = Napi::Object::New(env);
  for (size_t i = 0; i < drive::kOps; ++i) {
    const char* name = drive::NameOf(static_cast<Op>(i));
    if (statistics.native[i] != 0) Setter(env, native).Id(name, statistics.native[i]);
    if (statistics.passed[i] != 0) Setter(env, passed).Id(name, statistics.passed[i]);
  }
  Napi::Object object = Napi::Object::New(env);
  Setter set(env, object);
  set.Id("readBytes", statistics.read_bytes);
  set.Id("writtenBytes", statistics.written_bytes);
  set.Value("native", native);
  set.Value("passed", passed);
  set.Id("openFiles", statistics.open_files);
  set.Id("pendingRequests", statistics.pending_requests);
  set.Id("entries", statistics.entries);
  set.Id("kernelNodes", statistics.kernel_nodes);
  return object;
}

}  // namespace runnel::bridge
