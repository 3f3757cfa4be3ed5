#include "winfsp_api.h"

#include <mutex>

namespace runnel::drive {
namespace {

// With the notice and the link that WinFsp's licence asks for.
constexpr const char* kNotInstalled =
    "WinFsp is not installed: install it from https://github.com/winfsp/winfsp, then try again. "
    "(WinFsp - Windows File System Proxy, Copyright (C) Bill Zissimopoulos)";
constexpr const char* kTooOld =
    "The installed WinFsp is too old: install WinFsp 2 or newer from https://github.com/winfsp/winfsp, then try again.";
constexpr const wchar_t* kLibrary = L"winfsp-x64.dll";
constexpr UINT32 kMajorMin = 2;

// Finds the library that the process has loaded, or else the one that is installed. The usual places for libraries are
// not searched: anybody's file of that name could lie there.
HMODULE FindLibrary() {
  if (HMODULE loaded = GetModuleHandleW(kLibrary); loaded != nullptr) return loaded;
  wchar_t folder[MAX_PATH];
  DWORD bytes = sizeof(folder);
  // WinFsp's installer is a 32-bit program.
  if (RegGetValueW(HKEY_LOCAL_MACHINE, L"Software\\WinFsp", L"InstallDir", RRF_RT_REG_SZ | RRF_SUBKEY_WOW6432KEY,
                   nullptr, folder, &bytes) != ERROR_SUCCESS) {
    return nullptr;
  }
  const std::wstring path = std::wstring(folder) + L"\\bin\\" + kLibrary;
  return LoadLibraryExW(path.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
}

template <typename Function>
bool Find(HMODULE library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(library, name)));
  return *function != nullptr;
}

bool FindAll(HMODULE library, WinFspApi* api) {
  return Find(library, "FspVersion", &api->Version) && Find(library, "FspFileSystemCreate", &api->Create) &&
         Find(library, "FspFileSystemDelete", &api->Delete) &&
         Find(library, "FspFileSystemSetMountPoint", &api->SetMountPoint) &&
         Find(library, "FspFileSystemRemoveMountPoint", &api->RemoveMountPoint) &&
         Find(library, "FspFileSystemStartDispatcher", &api->StartDispatcher) &&
         Find(library, "FspFileSystemStopDispatcher", &api->StopDispatcher) &&
         Find(library, "FspFileSystemSendResponse", &api->SendResponse) &&
         Find(library, "FspFileSystemNotifyBegin", &api->NotifyBegin) &&
         Find(library, "FspFileSystemNotify", &api->Notify) &&
         Find(library, "FspFileSystemNotifyEnd", &api->NotifyEnd) &&
         Find(library, "FspFileSystemGetOperationContext", &api->GetOperationContext) &&
         Find(library, "FspFileSystemAddDirInfo", &api->AddDirInfo) &&
         Find(library, "FspFileSystemResolveReparsePoints", &api->ResolveReparsePoints);
}

}  // namespace

const WinFspApi* LoadWinFsp(std::string* problem) {
  static std::mutex mutex;
  static WinFspApi api;
  static bool is_loaded = false;
  const std::lock_guard lock(mutex);
  if (is_loaded) return &api;
  const HMODULE library = FindLibrary();
  if (library == nullptr) {
    *problem = kNotInstalled;
    return nullptr;
  }
  UINT32 version = 0;
  if (!FindAll(library, &api) || api.Version(&version) < 0 || (version >> 16) < kMajorMin) {
    *problem = kTooOld;
    return nullptr;
  }
  is_loaded = true;
  return &api;
}

}  // namespace runnel::drive
