// A request of the kernel, answered through libfuse. Any thread may answer; libfuse writes to /dev/fuse, which does
// not wait.
#ifndef RUNNEL_DRIVE_FUSE_FUSE_REPLY_H_
#define RUNNEL_DRIVE_FUSE_FUSE_REPLY_H_

#include <vector>

#include "fuse_api.h"
#include "src/drive/drive.h"

namespace runnel::drive {

class FuseReply : public Reply {
 public:
  explicit FuseReply(fuse_req_t request) : request_(request) {}

  Caller GetCaller() const override;
  void WatchCaller(uint64_t waiter) override;
  void OnWaiting(uint64_t waiter) override;
  void Error(Kind error) override;
  bool Entry(const EntryAnswer& answer) override;
  bool Created(const EntryAnswer& answer, Handle* handle) override;
  bool Opened(Handle* handle, bool keeps_cache) override;
  bool FolderOpened(FolderHandle* handle) override;
  void Attributes(const struct Attributes& attributes, uint32_t timeout_ms) override;
  void Target(const std::string& target) override;
  void Data(const char* data, size_t size) override;
  void Written(size_t size) override;
  void Size(size_t size) override;
  void Offset(uint64_t offset) override;
  void Filesystem(const Space& space) override;
  void BeginNames(size_t size, bool with_attributes) override;
  bool AddName(const std::string& name, const EntryAnswer& answer, uint64_t next_offset) override;
  void SendNames() override;

 private:
  const fuse_req_t request_;
  std::vector<char> names_;
  size_t names_size_ = 0;
  bool with_attributes_ = false;
};

// A list of extended attributes, by their names in requests.
class FuseXattrsReply final : public FuseReply {
 public:
  using FuseReply::FuseReply;
  void Data(const char* data, size_t size) override;
};

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_FUSE_FUSE_REPLY_H_
