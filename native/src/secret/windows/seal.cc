// Seals with the Data Protection API (dpapi.h), whose key is derived from what the user logs in with.
#include "src/secret/seal.h"

#include <windows.h>

#include <wincrypt.h>

#include <cerrno>
#include <limits>

namespace runnel {

namespace {

// Told apart from what other programs of this user seal.
constexpr char kPurpose[] = "Runnel secret 1";

DATA_BLOB BlobOf(const void* bytes, size_t length) {
  return {static_cast<DWORD>(length), static_cast<BYTE*>(const_cast<void*>(bytes))};
}

// Copies what the system allocated, and wipes and frees that.
void Take(DATA_BLOB* blob, std::vector<uint8_t>* into) {
  into->assign(blob->pbData, blob->pbData + blob->cbData);
  SecureZeroMemory(blob->pbData, blob->cbData);
  LocalFree(blob->pbData);
}

bool IsTooLong(size_t length) { return length > std::numeric_limits<DWORD>::max(); }

}  // namespace

int SealSecret(const uint8_t* bytes, size_t length, std::vector<uint8_t>* sealed) {
  if (IsTooLong(length)) return EFBIG;
  DATA_BLOB in = BlobOf(bytes, length);
  DATA_BLOB purpose = BlobOf(kPurpose, sizeof(kPurpose));
  DATA_BLOB out = {};
  if (!CryptProtectData(&in, nullptr, &purpose, nullptr, nullptr, CRYPTPROTECT_UI_FORBIDDEN, &out)) return EACCES;
  Take(&out, sealed);
  return 0;
}

int OpenSecret(const uint8_t* sealed, size_t length, std::vector<uint8_t>* bytes) {
  if (IsTooLong(length)) return EFBIG;
  DATA_BLOB in = BlobOf(sealed, length);
  DATA_BLOB purpose = BlobOf(kPurpose, sizeof(kPurpose));
  DATA_BLOB out = {};
  if (!CryptUnprotectData(&in, nullptr, &purpose, nullptr, nullptr, CRYPTPROTECT_UI_FORBIDDEN, &out)) return EINVAL;
  Take(&out, bytes);
  return 0;
}

}  // namespace runnel
