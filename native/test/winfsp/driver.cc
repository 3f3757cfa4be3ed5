#include "driver.h"

#include <algorithm>
#include <cstring>

#include "library.h"

namespace runnel::test {

namespace {

std::mutex drivers_mutex;

// The one of the last drive stands last. Threads may outlive the library's end.
std::vector<Driver*>& Drivers() {
  static auto* const drivers = new std::vector<Driver*>;
  return *drivers;
}

bool IsSame(const std::wstring& one, const std::wstring& other) {
  return CompareStringOrdinal(one.c_str(), -1, other.c_str(), -1, TRUE) == CSTR_EQUAL;
}

}  // namespace

Driver& Driver::Of(FSP_FILE_SYSTEM* file_system) { return *reinterpret_cast<Served*>(file_system)->driver; }

Driver* Driver::At(const std::wstring& mountpoint) {
  const std::lock_guard lock(drivers_mutex);
  const std::vector<Driver*>& drivers = Drivers();
  if (mountpoint.empty()) return drivers.empty() ? nullptr : drivers.back();
  for (Driver* driver : drivers) {
    if (driver->mountpoint() == mountpoint || (!driver->IsFree() && IsSame(L'\\' + driver->prefix(), mountpoint)))
      return driver;
  }
  return nullptr;
}

NTSTATUS Driver::Create(PWSTR device, const FSP_FSCTL_VOLUME_PARAMS* params,
                        const FSP_FILE_SYSTEM_INTERFACE* operations, FSP_FILE_SYSTEM** made) {
  const std::lock_guard lock(drivers_mutex);
  std::vector<Driver*>& drivers = Drivers();
  // The driver keeps one table of prefixes, whose names have no case.
  for (Driver* driver : drivers) {
    if (!driver->IsFree() && IsSame(driver->prefix(), params->Prefix)) return STATUS_OBJECT_NAME_COLLISION;
  }
  const auto free = std::find_if(drivers.begin(), drivers.end(), [](Driver* driver) { return driver->IsFree(); });
  if (free == drivers.end()) {
    drivers.push_back(new Driver);
  } else {
    std::rotate(free, free + 1, drivers.end());
  }
  *made = drivers.back()->Make(device, params, operations);
  return STATUS_SUCCESS;
}

bool Driver::IsFree() {
  const std::lock_guard lock(mutex_);
  return file_system_ == nullptr;
}

FSP_FILE_SYSTEM* Driver::Make(PWSTR device, const FSP_FSCTL_VOLUME_PARAMS* params,
                              const FSP_FILE_SYSTEM_INTERFACE* operations) {
  const std::lock_guard lock(mutex_);
  device_ = device;
  params_ = *params;
  auto* served = new Served{{}, this};
  FSP_FILE_SYSTEM* const file_system = &served->file_system;
  file_system->Version = sizeof(FSP_FILE_SYSTEM);
  file_system->Interface = operations;
  file_system->UmFileContextIsUserContext2 = params->UmFileContextIsUserContext2;
  file_system->EnterOperation = FspFileSystemOpEnter;
  file_system->LeaveOperation = FspFileSystemOpLeave;
  file_system_ = file_system;
  is_stopping_ = false;
  heard_.clear();
  return file_system;
}

void Driver::Delete(FSP_FILE_SYSTEM* file_system) {
  const std::lock_guard lock(mutex_);
  file_system_ = nullptr;
  mountpoint_.clear();
  files_.clear();
  delete reinterpret_cast<Served*>(file_system);
}

NTSTATUS Driver::Mount(PWSTR mountpoint) {
  const std::lock_guard lock(mutex_);
  mountpoint_ = mountpoint == nullptr ? L"Z:" : mountpoint;  // a letter of WinFsp's choice
  return STATUS_SUCCESS;
}

void Driver::Unmount() {
  const std::lock_guard lock(mutex_);
  mountpoint_.clear();
}

NTSTATUS Driver::Start(ULONG threads) {
  // The real one would hold a namespace lock around requests that wait: a file system whose requests may wait for one
  // another takes it away.
  if (file_system_->EnterOperation != nullptr || file_system_->LeaveOperation != nullptr)
    return STATUS_INVALID_PARAMETER;
  for (ULONG i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
  return STATUS_SUCCESS;
}

void Driver::Stop(bool is_normal) {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (Operations().DispatcherStopped != nullptr) Operations().DispatcherStopped(file_system_, is_normal);
}

void Driver::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> run = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

void Driver::TakeResponse(const FSP_FSCTL_TRANSACT_RSP* response) {
  const std::lock_guard lock(mutex_);
  responses_[response->Hint] = {static_cast<NTSTATUS>(response->IoStatus.Status), response->IoStatus.Information};
  changed_.notify_all();
}

void Driver::TakeNotifications(const FSP_FSCTL_NOTIFY_INFO* info, SIZE_T size) {
  const std::lock_guard lock(mutex_);
  const auto* at = reinterpret_cast<const uint8_t*>(info);
  for (const uint8_t* const end = at + size; at + sizeof(FSP_FSCTL_NOTIFY_INFO) <= end;) {
    const auto* one = reinterpret_cast<const FSP_FSCTL_NOTIFY_INFO*>(at);
    heard_.push_back({one->Action, one->Filter, {one->FileNameBuf, (one->Size - sizeof(*one)) / sizeof(WCHAR)}});
    at += FSP_FSCTL_DEFAULT_ALIGN_UP(one->Size);
  }
}

NTSTATUS Driver::Transact(UINT32 kind, const std::function<NTSTATUS()>& run, ULONG* transferred) {
  FSP_FSCTL_TRANSACT_REQ request = {};
  alignas(8) uint8_t room[sizeof(FSP_FSCTL_TRANSACT_RSP)] = {};
  auto* response = reinterpret_cast<FSP_FSCTL_TRANSACT_RSP*>(room);
  uint64_t hint = 0;
  {
    const std::lock_guard lock(mutex_);
    hint = next_hint_++;
  }
  request.Size = sizeof(request);
  request.Kind = response->Kind = kind;
  request.Hint = response->Hint = hint;
  SetOperationContext(&request, response);
  const NTSTATUS status = run();
  SetOperationContext(nullptr, nullptr);
  if (status != STATUS_PENDING) return status;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return responses_.count(hint) != 0; });
  const auto [answer, count] = responses_[hint];
  responses_.erase(hint);
  *transferred = count;
  return answer;
}

void Driver::Ask(const std::string& call, Asked asked, std::function<void(StandInReply)> done) {
  static const std::map<std::string, Call> kCalls = {
      {"open", &Driver::OpenFile},
      {"close", &Driver::CloseFile},
      {"cleanup", &Driver::Cleanup},
      {"read", &Driver::Read},
      {"write", &Driver::Write},
      {"flush", &Driver::Flush},
      {"info", &Driver::GetInfo},
      {"setBasic", &Driver::SetBasic},
      {"setSize", &Driver::SetSize},
      {"dispose", &Driver::SetDisposition},
      {"rename", &Driver::Rename},
      {"list", &Driver::List},
      {"dirInfo", &Driver::DirInfo},
      {"getSecurity", &Driver::GetSecurity},
      {"setSecurity", &Driver::SetSecurity},
      {"getLink", &Driver::GetLink},
      {"setLink", &Driver::SetLink},
      {"volume", &Driver::GetVolume},
  };
  const auto found = kCalls.find(call);
  std::unique_lock lock(mutex_);
  if (found == kCalls.end() || file_system_ == nullptr || is_stopping_) {
    StandInReply told;
    told.status = found == kCalls.end() ? STATUS_INVALID_PARAMETER : STATUS_DEVICE_NOT_READY;
    lock.unlock();
    return done(told);
  }
  queue_.push_back(
      [this, run = found->second, asked = std::move(asked), done = std::move(done)] { done((this->*run)(asked)); });
  changed_.notify_one();
}

std::wstring Driver::mountpoint() {
  const std::lock_guard lock(mutex_);
  return mountpoint_;
}

std::wstring Driver::prefix() {
  const std::lock_guard lock(mutex_);
  return params_.Prefix;
}

std::wstring Driver::device() {
  const std::lock_guard lock(mutex_);
  return device_;
}

FSP_FSCTL_VOLUME_PARAMS Driver::params() {
  const std::lock_guard lock(mutex_);
  return params_;
}

std::vector<Notification> Driver::TakeHeard() {
  const std::lock_guard lock(mutex_);
  return std::exchange(heard_, {});
}

FileObject* Driver::Find(int64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto at = files_.find(handle);
  return at == files_.end() ? nullptr : &at->second;
}

}  // namespace runnel::test
