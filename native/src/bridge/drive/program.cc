// The memory drive's programs: requests that a kernel would make, called from JavaScript.
#include <algorithm>
#include <string>
#include <utility>

#include "convert.h"
#include "object.h"

namespace runnel::bridge {
namespace {

uint64_t IdAt(const Napi::Object& arguments, const char* name) { return IdOf(arguments.Get(name)); }
std::string TextAt(const Napi::Object& arguments, const char* name) {
  return arguments.Get(name).As<Napi::String>().Utf8Value();
}
uint32_t Uint32At(const Napi::Object& arguments, const char* name) {
  return arguments.Get(name).As<Napi::Number>().Uint32Value();
}

// Handles are pointers that JavaScript holds as externals, so that no number can be mistaken for one.
template <typename Pointed>
Pointed* HandleAt(const Napi::Object& arguments) {
  return arguments.Get("handle").As<Napi::External<Pointed>>().Data();
}

drive::SetAttributes SetOf(const Napi::Object& arguments) {
  using drive::Message;
  drive::SetAttributes set;
  bool is_lossless = false;
  if (arguments.Get("mode").IsNumber()) {
    set.set |= Message::kMode;
    set.mode = Uint32At(arguments, "mode");
  }
  if (arguments.Get("uid").IsNumber()) {
    set.set |= Message::kUid;
    set.uid = Uint32At(arguments, "uid");
  }
  if (arguments.Get("gid").IsNumber()) {
    set.set |= Message::kGid;
    set.gid = Uint32At(arguments, "gid");
  }
  if (arguments.Get("sizeBytes").IsNumber()) {
    set.set |= Message::kSize;
    set.size_bytes = IdAt(arguments, "sizeBytes");
  }
  if (arguments.Get("mtimeNs").IsBigInt()) {
    set.set |= Message::kMtime;
    set.mtime_ns = arguments.Get("mtimeNs").As<Napi::BigInt>().Int64Value(&is_lossless);
  }
  if (arguments.Get("atimeNs").IsBigInt()) {
    set.sets_atime = true;
    set.atime_ns = arguments.Get("atimeNs").As<Napi::BigInt>().Int64Value(&is_lossless);
  }
  return set;
}

Napi::Object ToStat(Napi::Env env, const drive::EntryAnswer& answer) {
  const drive::Attributes& attributes = answer.attributes;
  Napi::Object stat = Napi::Object::New(env);
  stat["id"] = static_cast<double>(answer.id);
  stat["ino"] = static_cast<double>(attributes.ino);
  stat["mode"] = attributes.mode;
  stat["nlink"] = attributes.nlink;
  stat["uid"] = attributes.uid;
  stat["gid"] = attributes.gid;
  stat["rdev"] = attributes.rdev;
  stat["sizeBytes"] = static_cast<double>(attributes.size_bytes);
  stat["allocatedBytes"] = static_cast<double>(attributes.allocated_bytes);
  stat["atimeNs"] = Napi::BigInt::New(env, attributes.atime_ns);
  stat["mtimeNs"] = Napi::BigInt::New(env, attributes.mtime_ns);
  stat["ctimeNs"] = Napi::BigInt::New(env, attributes.ctime_ns);
  stat["entryTimeoutMs"] = answer.entry_timeout_ms;
  stat["attributeTimeoutMs"] = answer.attribute_timeout_ms;
  return stat;
}

// Makes one request, as a kernel does.
void MakeRequest(drive::DriveCore& core, const drive::ReplyPtr& reply, const std::string& op,
                 const Napi::Object& arguments) {
  if (op == "lookup") return core.Lookup(reply, IdAt(arguments, "folder"), TextAt(arguments, "name"));
  if (op == "reach") return core.Reach(reply, IdAt(arguments, "node"), arguments.Get("wantsParent").ToBoolean());
  if (op == "forget") {
    core.Forget(IdAt(arguments, "id"), IdAt(arguments, "lookups"));
    return reply->Error(drive::Kind::kNone);
  }
  if (op == "getattr") return core.GetAttributes(reply, IdAt(arguments, "id"));
  if (op == "setattr") {
    drive::Handle* handle = arguments.Get("handle").IsExternal() ? HandleAt<drive::Handle>(arguments) : nullptr;
    return core.SetAttributesOf(reply, IdAt(arguments, "id"), handle, SetOf(arguments));
  }
  if (op == "readlink") return core.ReadLink(reply, IdAt(arguments, "id"));
  if (op == "make")
    return core.Make(reply, IdAt(arguments, "folder"), TextAt(arguments, "name"),
                     static_cast<drive::FileType>(std::min(6u, Uint32At(arguments, "type"))),
                     Uint32At(arguments, "mode"), Uint32At(arguments, "rdev"), TextAt(arguments, "target"));
  if (op == "link")
    return core.Link(reply, IdAt(arguments, "id"), IdAt(arguments, "folder"), TextAt(arguments, "name"));
  if (op == "remove")
    return core.Remove(reply, IdAt(arguments, "folder"), TextAt(arguments, "name"),
                       arguments.Get("isFolder").ToBoolean());
  if (op == "rename") {
    const auto how = static_cast<drive::RenameHow>(std::min(2u, Uint32At(arguments, "how")));
    return core.Rename(reply, IdAt(arguments, "folder"), TextAt(arguments, "name"), IdAt(arguments, "toFolder"),
                       TextAt(arguments, "toName"), how);
  }
  if (op == "create")
    return core.Create(reply, IdAt(arguments, "folder"), TextAt(arguments, "name"), Uint32At(arguments, "mode"),
                       static_cast<int>(Uint32At(arguments, "flags")));
  if (op == "open") return core.Open(reply, IdAt(arguments, "id"), static_cast<int>(Uint32At(arguments, "flags")));
  if (op == "read")
    return core.Read(reply, HandleAt<drive::Handle>(arguments), IdAt(arguments, "offset"), IdAt(arguments, "length"));
  if (op == "write") {
    const auto data = arguments.Get("data").As<Napi::Uint8Array>();
    return core.Write(reply, HandleAt<drive::Handle>(arguments), IdAt(arguments, "offset"),
                      reinterpret_cast<const char*>(data.Data()), data.ByteLength(),
                      arguments.Get("isWriteback").ToBoolean());
  }
  if (op == "flush") return core.Flush(reply, HandleAt<drive::Handle>(arguments));
  if (op == "fsync") return core.Fsync(reply, HandleAt<drive::Handle>(arguments));
  if (op == "release") {
    core.Release(HandleAt<drive::Handle>(arguments));
    return reply->Error(drive::Kind::kNone);
  }
  if (op == "opendir") return core.OpenFolder(reply, IdAt(arguments, "id"));
  if (op == "readdir")
    return core.ReadFolder(reply, HandleAt<drive::FolderHandle>(arguments), IdAt(arguments, "offset"),
                           IdAt(arguments, "count"), arguments.Get("plus").ToBoolean());
  if (op == "releasedir") {
    core.ReleaseFolder(HandleAt<drive::FolderHandle>(arguments));
    return reply->Error(drive::Kind::kNone);
  }
  if (op == "getxattr")
    return core.GetXattr(reply, IdAt(arguments, "id"), TextAt(arguments, "name"), IdAt(arguments, "room"));
  if (op == "listxattr") return core.ListXattrs(reply, IdAt(arguments, "id"), IdAt(arguments, "room"));
  if (op == "setxattr") {
    const auto value = arguments.Get("value").As<Napi::Uint8Array>();
    return core.SetXattr(reply, IdAt(arguments, "id"), TextAt(arguments, "name"),
                         {reinterpret_cast<const char*>(value.Data()), value.ByteLength()},
                         static_cast<int>(Uint32At(arguments, "flags")));
  }
  if (op == "removexattr") return core.RemoveXattr(reply, IdAt(arguments, "id"), TextAt(arguments, "name"));
  if (op == "seek")
    return core.Seek(reply, HandleAt<drive::Handle>(arguments), IdAt(arguments, "offset"),
                     arguments.Get("wantsData").ToBoolean());
  if (op == "allocate")
    return core.Allocate(reply, HandleAt<drive::Handle>(arguments), static_cast<int>(Uint32At(arguments, "mode")),
                         IdAt(arguments, "offset"), IdAt(arguments, "length"));
  if (op == "statfs") return core.StatFilesystem(reply);
  throw Napi::TypeError::New(arguments.Env(), "no such request: " + op);
}

}  // namespace

Napi::Value DriveObject::Drain(const Napi::CallbackInfo& info) {
  bool has_ended = false;
  return DrainItems(info.Env(), &has_ended);
}

Napi::Value DriveObject::WakeTime(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(memory_->WakeTime()));
}

Napi::Value DriveObject::TakeInvalidations(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<drive::Invalidation> taken = memory_->TakeInvalidations();
  if (taken.empty()) return env.Undefined();
  Napi::Array invalidations = Napi::Array::New(env, taken.size());
  for (uint32_t i = 0; i < taken.size(); ++i) {
    Napi::Object one = Napi::Object::New(env);
    one["folder"] = static_cast<double>(taken[i].folder_id);
    one["name"] = taken[i].name;
    one["id"] = static_cast<double>(taken[i].id);
    one["mark"] = static_cast<double>(taken[i].mark);
    one["untilMs"] = static_cast<double>(taken[i].until_ms);
    invalidations[i] = one;
  }
  return invalidations;
}

Napi::Value DriveObject::End(const Napi::CallbackInfo& info) {
  core().End();
  core().ReleaseAll();
  core().DropContents();
  return info.Env().Undefined();
}

void DriveObject::Complete(uint64_t ticket, drive::MemoryResult result) {
  const Napi::Env env = Env();
  Napi::HandleScope scope(env);
  Napi::Object object = Napi::Object::New(env);
  object["error"] = std::string(drive::NameOf(result.error));
  object["written"] = static_cast<double>(result.written);
  object["keepsCache"] = result.keeps_cache;
  if (result.has_entry || result.has_attributes) object["stat"] = ToStat(env, result.entry);
  if (result.handle != nullptr) object["handle"] = Napi::External<drive::Handle>::New(env, result.handle);
  if (result.folder_handle != nullptr)
    object["handle"] = Napi::External<drive::FolderHandle>::New(env, result.folder_handle);
  if (result.has_data) object["data"] = Napi::Buffer<char>::Copy(env, result.data.data(), result.data.size());
  if (result.has_space) {
    Napi::Object space = Napi::Object::New(env);
    space["totalBytes"] = static_cast<double>(result.space.total_bytes);
    space["freeBytes"] = static_cast<double>(result.space.free_bytes);
    space["availableBytes"] = static_cast<double>(result.space.available_bytes);
    space["totalFiles"] = static_cast<double>(result.space.total_files);
    space["freeFiles"] = static_cast<double>(result.space.free_files);
    object["space"] = space;
  }
  if (!result.names.empty()) {
    Napi::Array names = Napi::Array::New(env, result.names.size());
    for (uint32_t i = 0; i < result.names.size(); ++i) {
      Napi::Object name = Napi::Object::New(env);
      name["name"] = result.names[i].first;
      name["stat"] = ToStat(env, result.names[i].second);
      names[i] = name;
    }
    object["names"] = names;
  }
  complete_.Call({Napi::Number::New(env, static_cast<double>(ticket)), object});
}

Napi::Value DriveObject::Call(const Napi::CallbackInfo& info) {
  const uint64_t ticket = IdOf(info[0]);
  const std::string op = info[1].As<Napi::String>().Utf8Value();
  const auto arguments = info[2].As<Napi::Object>();
  drive::Caller caller;
  caller.uid = Uint32At(arguments, "callerUid");
  caller.gid = Uint32At(arguments, "callerGid");
  const Napi::Value pid = arguments.Get("callerPid");
  if (pid.IsNumber()) caller.pid = pid.As<Napi::Number>().Int32Value();
  MakeRequest(core(), memory_->ReplyTo(ticket, caller), op, arguments);
  return info.Env().Undefined();
}

}  // namespace runnel::bridge
