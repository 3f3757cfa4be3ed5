#include "port.h"

// Before windows.h, which brings an older one.
#define WIN32_NO_STATUS
#include <winsock2.h>
#undef WIN32_NO_STATUS

#include <cstdio>
#include <memory>

#include "record.h"

namespace runnel::test {
namespace {

// More than a request ever has.
constexpr uint64_t kRecordBytesMax = 64 << 20;

class Program : public std::enable_shared_from_this<Program> {
 public:
  explicit Program(SOCKET socket) : socket_(socket) {}

  // Returns when the program has ended and what it had open is being closed.
  void Serve() {
    std::thread writer([this] { Write(); });
    std::string record;
    Request request;
    while (Receive(&record) && ReadRequest(record, &request)) Perform(std::move(request));
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      changed_.notify_all();
    }
    shutdown(socket_, SD_BOTH);
    writer.join();
    closesocket(socket_);
    CloseAllAtTheEnd();
  }

 private:
  bool Receive(std::string* record) {
    uint64_t size = 0;
    if (!ReceiveAll(reinterpret_cast<char*>(&size), sizeof(size)) || size > kRecordBytesMax) return false;
    record->resize(size);
    return ReceiveAll(record->data(), size);
  }

  bool ReceiveAll(char* to, size_t size) {
    while (size > 0) {
      const int count = recv(socket_, to, static_cast<int>(size), 0);
      if (count <= 0) return false;
      to += count;
      size -= static_cast<size_t>(count);
    }
    return true;
  }

  void Write() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return has_ended_ || !unsent_.empty(); });
      if (has_ended_) return;
      const std::string record = std::move(unsent_.front());
      unsent_.pop_front();
      lock.unlock();
      // A failure is the end, which the reader sees.
      for (size_t at = 0; at < record.size();) {
        const int count = send(socket_, &record[at], static_cast<int>(record.size() - at), 0);
        if (count <= 0) break;
        at += static_cast<size_t>(count);
      }
      lock.lock();
    }
  }

  void Perform(Request request) {
    const uint64_t id = request.id;
    const int64_t handle = request.asked.handle;
    Driver* const driver = handle == 0 ? Driver::At(request.place) : OwnerOf(handle);
    if (driver == nullptr)
      return Send(id, {handle == 0 ? STATUS_OBJECT_PATH_NOT_FOUND : STATUS_INVALID_HANDLE, 0, {}, {}});
    if (request.call == "heard") return Send(id, Heard(driver));
    if (request.call == "params") return Send(id, Params(driver));
    if (request.call == "end") {  // by the driver itself, as when WinFsp is removed
      driver->Stop(false);
      return Send(id, {});
    }
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
      if (request.call == "close") open_.erase(handle);
    }
    const bool opens = request.call == "open";
    driver->Ask(request.call, std::move(request.asked), [self = shared_from_this(), driver, id, opens](auto told) {
      self->Finish(driver, id, opens, std::move(told));
    });
  }

  // The driver that a handle of this program's is of.
  Driver* OwnerOf(int64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(handle);
    return at == open_.end() ? nullptr : at->second;
  }

  void Finish(Driver* driver, uint64_t id, bool opens, StandInReply told) {
    if (opens && told.status == STATUS_SUCCESS) {
      const std::lock_guard lock(mutex_);
      open_[told.handle] = driver;
    }
    Send(id, AnswerOf(std::move(told)));
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
    }
    CloseAllAtTheEnd();
  }

  void Send(uint64_t id, const Answer& answer) {
    std::string record = RecordOf(id, answer);
    const std::lock_guard lock(mutex_);
    unsent_.push_back(std::move(record));
    changed_.notify_all();
  }

  // Once nothing is under way any longer: a request may still open something, or use what is open.
  void CloseAllAtTheEnd() {
    std::map<int64_t, Driver*> open;
    {
      const std::lock_guard lock(mutex_);
      if (!has_ended_ || under_way_ > 0) return;
      open.swap(open_);
    }
    for (const auto& [handle, driver] : open) {
      Asked asked;
      asked.handle = handle;
      driver->Ask("close", std::move(asked), [](const StandInReply&) {});
    }
  }

  // Notifications since the last call: paths, each with action and filter.
  static Answer Heard(Driver* driver) {
    Answer answer;
    for (auto& [action, filter, path] : driver->TakeHeard()) answer.rows.push_back({std::move(path), {action, filter}});
    return answer;
  }

  // Words of the file system on itself: letter, prefix, device.
  static Answer Params(Driver* driver) {
    const FSP_FSCTL_VOLUME_PARAMS params = driver->params();
    Answer answer;
    answer.rows.push_back(
        {driver->mountpoint(),
         {params.ReadOnlyVolume, params.CaseSensitiveSearch, params.NamedStreams, params.FileInfoTimeout}});
    answer.rows.push_back({driver->prefix(), {}});
    answer.rows.push_back({driver->device(), {}});
    return answer;
  }

  const SOCKET socket_;
  std::mutex mutex_;  // taken by done callbacks: never held around a call of a driver
  std::condition_variable changed_;
  std::deque<std::string> unsent_;
  std::map<int64_t, Driver*> open_;
  int under_way_ = 0;
  bool has_ended_ = false;
};

void Accept(SOCKET listener) {
  while (true) {
    const SOCKET socket = accept(listener, nullptr, nullptr);
    if (socket == INVALID_SOCKET) return;
    const BOOL is_on = TRUE;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&is_on), sizeof(is_on));
    std::thread([program = std::make_shared<Program>(socket)] { program->Serve(); }).detach();
  }
}

// Path of this library; empty when it is too long.
std::wstring OwnPath() {
  HMODULE own = nullptr;
  wchar_t path[MAX_PATH];
  constexpr DWORD kHow = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(kHow, reinterpret_cast<LPCWSTR>(&OwnPath), &own)) return {};
  const DWORD length = GetModuleFileNameW(own, path, MAX_PATH);
  return length < MAX_PATH ? std::wstring(path, length) : std::wstring();
}

bool ListenOnce() {
  WSADATA data;
  if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return false;
  const SOCKET listener = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, any, size) != 0 || listen(listener, SOMAXCONN) != 0 || getsockname(listener, any, &size) != 0)
    return false;
  const std::wstring file = OwnPath() + L".port" + std::to_wstring(GetCurrentProcessId());
  FILE* const out = _wfopen(file.c_str(), L"w");
  if (out == nullptr) return false;
  fprintf(out, "%u", ntohs(address.sin_port));
  fclose(out);
  std::thread(Accept, listener).detach();
  return true;
}

}  // namespace

bool Listen() {
  static const bool listens = ListenOnce();
  return listens;
}

}  // namespace runnel::test
