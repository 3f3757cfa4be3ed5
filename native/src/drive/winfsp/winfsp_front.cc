#include "winfsp_front.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <vector>

#include "names.h"
#include "src/file/windows/calls.h"
#include "winfsp_ops.h"

namespace runnel::drive {
namespace {

constexpr ULONG kRenameWaitMs = 1000;
constexpr size_t kNotifyBytesMax = 16 * 1024;

CoreSettings ForWindows(CoreSettings settings) {
  settings.kernel_timeout_ms = 0;
  settings.fold = FoldName;
  return settings;
}

// "runnel:docs" is the volume docs.
std::wstring LabelOf(const std::string& source) {
  std::wstring label;
  const size_t colon = source.find(':');
  ToUtf16(colon == std::string::npos ? source : source.substr(colon + 1), &label);
  for (wchar_t& character : label) {
    if (character == L'\\' || character == L'/' || character == L':') character = L'-';
  }
  return label.empty() ? L"drive" : label;
}

template <size_t Room>
void CopyText(std::wstring_view text, wchar_t (&to)[Room]) {
  const size_t count = std::min(text.size(), Room - 1);
  std::copy_n(text.begin(), count, to);
  to[count] = 0;
}

bool IsDriveLetter(const std::string& mountpoint) {
  const char letter = static_cast<char>(mountpoint.empty() ? 0 : mountpoint[0] & ~0x20);
  return mountpoint.size() == 2 && letter >= 'A' && letter <= 'Z' && mountpoint[1] == ':';
}

// The first of the two names of a share; "" for whatever is none.
std::wstring ServerOf(const std::string& mountpoint) {
  std::wstring wide;
  if (!ToUtf16(mountpoint, &wide) || wide.rfind(L"\\\\", 0) != 0) return {};
  const size_t end = wide.find(L'\\', 2);
  const bool is_share = end != std::wstring::npos && end + 1 < wide.size() && wide.find(L'\\', end + 1) == wide.npos;
  return is_share ? wide.substr(2, end - 2) : std::wstring();
}

bool IsThisComputer(const std::wstring& server) {
  for (const COMPUTER_NAME_FORMAT format : {ComputerNameNetBIOS, ComputerNameDnsHostname}) {
    wchar_t name[256];
    DWORD size = static_cast<DWORD>(std::size(name));
    if (GetComputerNameExW(format, name, &size) &&
        CompareStringOrdinal(name, -1, server.c_str(), -1, TRUE) == CSTR_EQUAL)
      return true;
  }
  return false;
}

// The volume prefix of WinFsp: a share with one backslash before it. A drive at a letter is a share of a server of its
// own, so that volumes of one name do not meet there; windows-paths.ts knows these names.
std::wstring PrefixOf(const std::string& mountpoint, const std::wstring& label) {
  std::wstring prefix;
  if (IsDriveLetter(mountpoint))
    return std::wstring(L"\\runnel-") + static_cast<wchar_t>(mountpoint[0]) + L'\\' + label;
  ToUtf16(mountpoint, &prefix);
  return prefix.substr(1);
}

std::string WhyNotMade(NTSTATUS status) {
  if (status == STATUS_NO_SUCH_DEVICE || status == STATUS_OBJECT_NAME_NOT_FOUND)
    return "WinFsp's driver does not run: restart Windows, or install WinFsp again.";
  if (status == STATUS_OBJECT_NAME_COLLISION)
    return "A drive of this name is there already, perhaps another user's: choose another letter or share.";
  if (status == STATUS_ACCESS_DENIED) return "Windows does not let this user make drives.";
  char text[64];
  snprintf(text, sizeof(text), "WinFsp could not make the drive (status 0x%08lx).", static_cast<unsigned long>(status));
  return text;
}

}  // namespace

WinfspFront::WinfspFront(Settings settings, CoreSettings core_settings, std::function<void()> wake_agent)
    : settings_(std::move(settings)),
      wake_agent_(std::move(wake_agent)),
      label_(LabelOf(settings_.source)),
      core_(this, ForWindows(std::move(core_settings))) {}

WinfspFront::~WinfspFront() {
  if (closer_.joinable()) closer_.join();
}

std::string WinfspFront::Mount() {
  FSP_FSCTL_VOLUME_PARAMS params = {};
  params.Version = sizeof(params);
  params.SectorSize = 512;
  params.SectorsPerAllocationUnit = kBlockBytes / 512;
  params.MaxComponentLength = 255;
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  params.VolumeCreationTime = uint64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime;
  params.VolumeSerialNumber = static_cast<UINT32>(std::hash<std::wstring>()(label_));
  params.FileInfoTimeout = 0;
  params.CasePreservedNames = 1;
  params.UnicodeOnDisk = 1;
  params.PersistentAcls = 1;
  params.ReparsePoints = 1;
  params.ReadOnlyVolume = settings_.is_read_only ? 1 : 0;
  params.PostCleanupWhenModifiedOnly = 1;
  params.PassQueryDirectoryFileName = 1;
  params.DirectoryMarkerAsNextOffset = 1;
  params.SupportsPosixUnlinkRename = 1;
  params.UmFileContextIsUserContext2 = 1;
  params.UmNoReparsePointsDirCheck = 1;
  CopyText(PrefixOf(settings_.mountpoint, label_), params.Prefix);
  CopyText(L"Runnel", params.FileSystemName);
  wchar_t device[] = L"" FSP_FSCTL_NET_DEVICE_NAME;
  if (const NTSTATUS status = api_->Create(device, &params, &WinfspOps(), &file_system_); status < 0) {
    file_system_ = nullptr;
    return WhyNotMade(status);
  }
  file_system_->UserContext = this;
  // The core has locks of its own: no request waits for another one's name.
  FspFileSystemSetOperationGuard(file_system_, nullptr, nullptr);
  NTSTATUS status = STATUS_SUCCESS;
  // A share is there by its prefix alone. Without a name WinFsp would choose a letter.
  if (IsDriveLetter(settings_.mountpoint)) {
    wchar_t letter[] = {static_cast<wchar_t>(settings_.mountpoint[0]), L':', 0};
    status = api_->SetMountPoint(file_system_, letter);
  }
  const bool is_taken = status == STATUS_OBJECT_NAME_COLLISION;
  if (status >= 0) status = api_->StartDispatcher(file_system_, kThreads);
  if (status >= 0) return "";
  api_->Delete(std::exchange(file_system_, nullptr));
  return is_taken ? "The drive letter is in use: choose another." : WhyNotMade(status);
}

std::string WinfspFront::Start() {
  const bool has_letter = IsDriveLetter(settings_.mountpoint);
  const std::wstring server = ServerOf(settings_.mountpoint);
  if (!has_letter && server.empty())
    return "A network drive is mounted at a drive letter or a share: choose a free one, as R: or \\\\runnel\\docs.";
  if (IsThisComputer(server))
    return "A share may not have the name of this computer for its server: choose another, as \\\\runnel\\docs.";
  std::string problem;
  api_ = LoadWinFsp(&problem);
  if (api_ == nullptr) return problem;
  if (has_letter && GetLogicalDrives() & 1u << ((settings_.mountpoint[0] & ~0x20) - 'A'))
    return "The drive letter is in use: choose another.";
  worker_ = std::thread([this] { tasks_.Run(); });
  timer_ = std::thread([this] { alarm_.Run(); });
  notifier_ = std::thread([this] { Notify(); });
  problem = Mount();
  if (!problem.empty()) {
    StopThreads();
    return problem;
  }
  core_.Notify({Notice::kReady, 0, 0, {}});
  return "";
}

Opened* WinfspFront::Add(uint64_t id, const Attributes& attributes, Handle* handle) {
  auto* opened = new Opened;
  opened->id = id;
  opened->is_folder = TypeOf(attributes.mode) == FileType::kFolder;
  opened->is_root = id == kRootId;
  opened->handle = handle;
  const std::lock_guard lock(opened_mutex_);
  opened_.insert(opened);
  if (handle != nullptr) ++files_in_use_;
  return opened;
}

void WinfspFront::Remove(Opened* opened) {
  {
    const std::lock_guard lock(opened_mutex_);
    if (opened_.erase(opened) == 0) return;
    if (opened->handle != nullptr) --files_in_use_;
  }
  if (opened->handle != nullptr) core_.Release(opened->handle);
  if (opened->folder != nullptr) core_.ReleaseFolder(opened->folder);
  if (!opened->is_root) core_.Forget(opened->id, 1);
  delete opened;
}

void WinfspFront::Replace(Opened* opened, uint64_t id) {
  Handle* const handle = std::exchange(opened->handle, nullptr);
  if (handle != nullptr) {
    const std::lock_guard lock(opened_mutex_);
    --files_in_use_;
  }
  if (handle != nullptr) core_.Release(handle);
  core_.Forget(std::exchange(opened->id, id), 1);
  opened->is_folder = false;
}

void WinfspFront::RemoveAll() {
  // An answer under way may open or close something yet.
  core_.AwaitAnswers();
  std::unordered_set<Opened*> left;
  {
    const std::lock_guard lock(opened_mutex_);
    left = opened_;
  }
  for (Opened* opened : left) Remove(opened);
  core_.ReleaseAll();
}

// The clock of JavaScript's process.hrtime: Windows' performance counter, which goes on while the machine sleeps.
int64_t WinfspFront::NowBootMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t WinfspFront::NowKernelMs() { return NowBootMs(); }

int64_t WinfspFront::NowWallNs() {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return NanosecondsOf(static_cast<int64_t>(uint64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime));
}

// Nothing is kept that would have to be forgotten.
void WinfspFront::InvalidateName(uint64_t, std::string, uint64_t id, uint64_t mark, int64_t) {
  if (mark != 0) Post([this, id, mark] { core_.Invalidated(id, mark); });
}

void WinfspFront::OnChangedElsewhere(uint64_t folder, const std::string& name, FileType type, NameChange how) {
  const std::lock_guard lock(changes_mutex_);
  if (changes_.size() >= kChangesMax) return;
  changes_.push_back({folder, name, type, how});
  changes_ready_.notify_one();
}

void WinfspFront::Notify() {
  std::unique_lock lock(changes_mutex_);
  while (true) {
    changes_ready_.wait(lock, [this] { return changes_end_ || !changes_.empty(); });
    if (changes_end_) return;
    const std::deque<Change> changes = std::exchange(changes_, {});
    lock.unlock();
    Report(changes);
    lock.lock();
  }
}

// WinFsp lets no rename begin between the two calls, and waits for one that is under way, for so long.
bool WinfspFront::BeginTelling() {
  NTSTATUS status = STATUS_CANT_WAIT;
  while (status == STATUS_CANT_WAIT) {
    {
      const std::lock_guard lock(changes_mutex_);
      if (changes_end_) return false;
    }
    status = api_->NotifyBegin(file_system_, kRenameWaitMs);
  }
  return status >= 0;
}

void WinfspFront::Report(const std::deque<Change>& changes) {
  if (!BeginTelling()) return;
  std::vector<uint8_t> buffer;
  const auto send = [&] {
    if (!buffer.empty())
      api_->Notify(file_system_, reinterpret_cast<FSP_FSCTL_NOTIFY_INFO*>(buffer.data()), buffer.size());
    buffer.clear();
  };
  for (const Change& change : changes) {
    std::vector<std::string> names;
    if (!core_.PathOf(change.folder, &names)) continue;
    names.push_back(change.name);
    std::wstring path;
    std::wstring wide;
    for (const std::string& name : names) {
      if (WindowsNameOf(name, &wide)) path += L'\\' + wide;
    }
    const size_t bytes = path.size() * sizeof(wchar_t);
    FSP_FSCTL_NOTIFY_INFO info = {};
    info.Size = static_cast<UINT16>(sizeof(info) + bytes);
    const DWORD name_filter =
        change.type == FileType::kFolder ? FILE_NOTIFY_CHANGE_DIR_NAME : FILE_NOTIFY_CHANGE_FILE_NAME;
    constexpr DWORD kContent = FILE_NOTIFY_CHANGE_SIZE | FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_ATTRIBUTES |
                               FILE_NOTIFY_CHANGE_SECURITY;
    info.Filter = change.how == NameChange::kModified ? kContent : name_filter;
    info.Action = change.how == NameChange::kAdded     ? FILE_ACTION_ADDED
                  : change.how == NameChange::kRemoved ? FILE_ACTION_REMOVED
                                                       : FILE_ACTION_MODIFIED;
    const size_t room = FSP_FSCTL_DEFAULT_ALIGN_UP(info.Size);
    if (bytes > UINT16_MAX / 2 || room > kNotifyBytesMax) continue;
    if (buffer.size() + room > kNotifyBytesMax) send();
    const size_t at = buffer.size();
    buffer.resize(at + room);
    memcpy(&buffer[at], &info, sizeof(info));
    memcpy(&buffer[at + sizeof(info)], path.data(), bytes);
  }
  send();
  api_->NotifyEnd(file_system_);
}

void WinfspFront::OnEndedOutside() {
  if (has_ended_.exchange(true)) return;
  core_.End();
  RemoveAll();
  core_.Notify({Notice::kUnmounted, 0, 0, "WinFsp has ended the drive."});
}

bool WinfspFront::CloseNow(bool force) {
  if (!force) {
    const std::lock_guard lock(opened_mutex_);
    if (files_in_use_ > 0) return false;
  }
  if (force) core_.End();
  api_->RemoveMountPoint(file_system_);
  // Waits for requests that the agent has to answer: until then without force, at once with it.
  api_->StopDispatcher(file_system_);
  core_.End();
  RemoveAll();
  if (!has_ended_.exchange(true)) core_.Notify({Notice::kUnmounted, 0, 0, "The drive was closed."});
  StopThreads();
  api_->Delete(std::exchange(file_system_, nullptr));
  core_.DropContents();
  return true;
}

void WinfspFront::StopThreads() {
  {
    const std::lock_guard lock(changes_mutex_);
    changes_end_ = true;
    changes_ready_.notify_all();
  }
  notifier_.join();
  alarm_.Stop();
  timer_.join();
  tasks_.Stop();
  worker_.join();
}

void WinfspFront::Close(bool force, std::function<void(Ending)> done) {
  if (closer_.joinable()) closer_.join();  // it found programs, and said so
  closer_ = std::thread([this, force, done = std::move(done)] { done({CloseNow(force), ""}); });
}

void WinfspFront::EndNow() {
  core_.End();  // or the closer may wait for a program whose request nobody answers
  if (closer_.joinable()) closer_.join();
  if (file_system_ != nullptr) CloseNow(true);
}

std::unique_ptr<KernelFront> MakeKernelFront(KernelFront::Settings settings, CoreSettings core_settings,
                                             std::function<void()> wake_agent) {
  return std::make_unique<WinfspFront>(std::move(settings), std::move(core_settings), std::move(wake_agent));
}

}  // namespace runnel::drive
