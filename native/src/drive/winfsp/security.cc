#include "security.h"

#include <cstring>
#include <optional>

namespace runnel::drive {
namespace {

constexpr uint32_t kPermissionMask = 07777;
constexpr uint32_t kRunBits = 0111;
constexpr uint8_t kUnixAuthority = 22;  // Samba's
constexpr uint32_t kUnixUsers = 1;
constexpr uint32_t kUnixGroups = 2;

// A digit of a mode.
constexpr uint32_t kMayRead = 4;
constexpr uint32_t kMayWrite = 2;
constexpr uint32_t kMayRun = 1;

// Everybody who reaches a file may ask for its attributes and rights, as stat(2) has it.
constexpr ACCESS_MASK kAlways = READ_CONTROL | SYNCHRONIZE | FILE_READ_ATTRIBUTES | FILE_READ_EA;
constexpr ACCESS_MASK kOwners = WRITE_DAC | WRITE_OWNER | FILE_WRITE_ATTRIBUTES;

ACCESS_MASK RightsOf(uint32_t digit, bool is_folder) {
  ACCESS_MASK rights = 0;
  if (digit & kMayRead) rights |= FILE_READ_DATA | (is_folder ? 0 : FILE_EXECUTE);
  if (digit & kMayWrite)
    rights |= FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES |
              (is_folder ? FILE_DELETE_CHILD : 0);
  if ((digit & kMayRun) && is_folder) rights |= FILE_TRAVERSE;
  return rights;
}

uint32_t DigitOf(ACCESS_MASK rights, bool is_folder) {
  uint32_t digit = 0;
  if (rights & FILE_READ_DATA) digit |= kMayRead;
  if (rights & FILE_WRITE_DATA) digit |= kMayWrite;
  if ((rights & FILE_TRAVERSE) && is_folder) digit |= kMayRun;
  return digit;
}

Bytes MakeSid(uint8_t authority, std::initializer_list<uint32_t> numbers) {
  Bytes sid(8 + 4 * numbers.size());
  sid[0] = SID_REVISION;
  sid[1] = static_cast<uint8_t>(numbers.size());
  sid[7] = authority;
  size_t at = 8;
  for (const uint32_t number : numbers) {
    memcpy(&sid[at], &number, sizeof(number));
    at += sizeof(number);
  }
  return sid;
}

Bytes Everyone() { return MakeSid(1, {0}); }

Bytes SidOf(uint32_t kind, uint32_t number, const Person& person) {
  if (kind == kUnixUsers && number == kPersonUid) return person.user;
  if (kind == kUnixGroups && number == kPersonGid) return person.group;
  return MakeSid(kUnixAuthority, {kind, number});
}

bool IsSid(PSID sid, const Bytes& other) { return EqualSid(sid, const_cast<uint8_t*>(other.data())); }

// The uid or gid that an account stands for.
std::optional<uint32_t> NumberOf(PSID sid, uint32_t kind, const Person& person) {
  if (IsSid(sid, kind == kUnixUsers ? person.user : person.group)) return kind == kUnixUsers ? kPersonUid : kPersonGid;
  const SID_IDENTIFIER_AUTHORITY unix_authority = {{0, 0, 0, 0, 0, kUnixAuthority}};
  if (memcmp(GetSidIdentifierAuthority(sid), &unix_authority, sizeof(unix_authority)) != 0) return std::nullopt;
  if (*GetSidSubAuthorityCount(sid) != 2 || *GetSidSubAuthority(sid, 0) != kind) return std::nullopt;
  return *GetSidSubAuthority(sid, 1);
}

class AclBuilder {
 public:
  void Add(uint8_t type, ACCESS_MASK rights, const Bytes& sid) {
    if (rights == 0) return;
    const uint16_t size = static_cast<uint16_t>(sizeof(ACE_HEADER) + sizeof(ACCESS_MASK) + sid.size());
    const ACE_HEADER header = {type, 0, size};
    const size_t at = entries_.size();
    entries_.resize(at + size);
    memcpy(&entries_[at], &header, sizeof(header));
    memcpy(&entries_[at + sizeof(header)], &rights, sizeof(rights));
    memcpy(&entries_[at + sizeof(header) + sizeof(rights)], sid.data(), sid.size());
    ++count_;
  }

  Bytes Take() const {
    const ACL header = {ACL_REVISION, 0, static_cast<uint16_t>(sizeof(ACL) + entries_.size()), count_, 0};
    Bytes acl(sizeof(header) + entries_.size());
    memcpy(acl.data(), &header, sizeof(header));
    memcpy(acl.data() + sizeof(header), entries_.data(), entries_.size());
    return acl;
  }

 private:
  Bytes entries_;
  uint16_t count_ = 0;
};

// The rights that a list gives one of three classes. Rights are given or denied by the first entry that names them.
ACCESS_MASK RightsIn(PACL acl, std::initializer_list<const Bytes*> names) {
  if (acl == nullptr) return FILE_ALL_ACCESS;  // no list: everything
  ACCESS_MASK given = 0;
  ACCESS_MASK denied = 0;
  for (DWORD i = 0; i < acl->AceCount; ++i) {
    void* entry = nullptr;
    if (!GetAce(acl, i, &entry)) break;
    const auto* ace = static_cast<ACCESS_ALLOWED_ACE*>(entry);
    const uint8_t type = ace->Header.AceType;
    if ((ace->Header.AceFlags & INHERIT_ONLY_ACE) != 0 ||
        (type != ACCESS_ALLOWED_ACE_TYPE && type != ACCESS_DENIED_ACE_TYPE))
      continue;
    bool is_named = false;
    for (const Bytes* name : names) is_named = is_named || IsSid(const_cast<DWORD*>(&ace->SidStart), *name);
    if (!is_named) continue;
    GENERIC_MAPPING mapping = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
    ACCESS_MASK rights = ace->Mask;
    MapGenericMask(&rights, &mapping);
    if (type == ACCESS_ALLOWED_ACE_TYPE) {
      given |= rights & ~denied;
    } else {
      denied |= rights & ~given;
    }
  }
  return given;
}

Bytes FromToken(HANDLE token, TOKEN_INFORMATION_CLASS what) {
  DWORD size = 0;
  GetTokenInformation(token, what, nullptr, 0, &size);
  std::vector<uint64_t> room(size / sizeof(uint64_t) + 1);
  if (!GetTokenInformation(token, what, room.data(), size, &size)) return MakeSid(5, {SECURITY_LOCAL_SYSTEM_RID});
  // TOKEN_USER and TOKEN_PRIMARY_GROUP both begin with the SID's address.
  PSID sid = *reinterpret_cast<PSID*>(room.data());
  Bytes copy(GetLengthSid(sid));
  CopySid(static_cast<DWORD>(copy.size()), copy.data(), sid);
  return copy;
}

}  // namespace

Person ThisPerson() {
  HANDLE token = nullptr;
  OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token);
  const Person person = {FromToken(token, TokenUser), FromToken(token, TokenPrimaryGroup)};
  CloseHandle(token);
  return person;
}

Bytes DescriptorOf(const Attributes& attributes, const Person& person) {
  const bool is_folder = TypeOf(attributes.mode) == FileType::kFolder;
  const Bytes owner = SidOf(kUnixUsers, attributes.uid, person);
  const Bytes group = SidOf(kUnixGroups, attributes.gid, person);
  const ACCESS_MASK of_owner = RightsOf(attributes.mode >> 6 & 7, is_folder) | kAlways | kOwners;
  const ACCESS_MASK of_group = RightsOf(attributes.mode >> 3 & 7, is_folder) | kAlways;
  const ACCESS_MASK of_all = RightsOf(attributes.mode & 7, is_folder) | kAlways;
  // Rights that a class lacks and a wider one has are denied to it first.
  AclBuilder acl;
  acl.Add(ACCESS_DENIED_ACE_TYPE, (of_group | of_all) & ~of_owner, owner);
  acl.Add(ACCESS_ALLOWED_ACE_TYPE, of_owner, owner);
  acl.Add(ACCESS_DENIED_ACE_TYPE, of_all & ~of_group, group);
  acl.Add(ACCESS_ALLOWED_ACE_TYPE, of_group, group);
  acl.Add(ACCESS_ALLOWED_ACE_TYPE, of_all, Everyone());
  const Bytes list = acl.Take();
  SECURITY_DESCRIPTOR_RELATIVE header = {};
  header.Revision = SECURITY_DESCRIPTOR_REVISION;
  // Protected: rights come from the bits, never from the folder above.
  header.Control = SE_SELF_RELATIVE | SE_DACL_PRESENT | SE_DACL_PROTECTED;
  header.Owner = sizeof(header);
  header.Group = static_cast<DWORD>(header.Owner + owner.size());
  header.Dacl = static_cast<DWORD>(header.Group + group.size());
  Bytes descriptor(header.Dacl + list.size());
  memcpy(descriptor.data(), &header, sizeof(header));
  memcpy(&descriptor[header.Owner], owner.data(), owner.size());
  memcpy(&descriptor[header.Group], group.data(), group.size());
  memcpy(&descriptor[header.Dacl], list.data(), list.size());
  return descriptor;
}

Ownership OwnershipAfter(const Attributes& attributes, SECURITY_INFORMATION information,
                         PSECURITY_DESCRIPTOR descriptor, const Person& person) {
  Ownership after = {attributes.mode & kPermissionMask, attributes.uid, attributes.gid};
  BOOL is_default = FALSE;
  PSID sid = nullptr;
  if ((information & OWNER_SECURITY_INFORMATION) && GetSecurityDescriptorOwner(descriptor, &sid, &is_default) &&
      sid != nullptr) {
    after.uid = NumberOf(sid, kUnixUsers, person).value_or(after.uid);
  }
  if ((information & GROUP_SECURITY_INFORMATION) && GetSecurityDescriptorGroup(descriptor, &sid, &is_default) &&
      sid != nullptr) {
    after.gid = NumberOf(sid, kUnixGroups, person).value_or(after.gid);
  }
  BOOL has_list = FALSE;
  PACL acl = nullptr;
  if (!(information & DACL_SECURITY_INFORMATION) ||
      !GetSecurityDescriptorDacl(descriptor, &has_list, &acl, &is_default) || !has_list)
    return after;
  const bool is_folder = TypeOf(attributes.mode) == FileType::kFolder;
  const Bytes everyone = Everyone();
  const Bytes authenticated = MakeSid(5, {SECURITY_AUTHENTICATED_USER_RID});
  const Bytes owner = SidOf(kUnixUsers, after.uid, person);
  const Bytes group = SidOf(kUnixGroups, after.gid, person);
  const uint32_t digits = DigitOf(RightsIn(acl, {&owner, &everyone, &authenticated}), is_folder) << 6 |
                          DigitOf(RightsIn(acl, {&group, &everyone, &authenticated}), is_folder) << 3 |
                          DigitOf(RightsIn(acl, {&everyone, &authenticated}), is_folder);
  const uint32_t kept = after.mode & ~0777u;
  after.mode = kept | digits | (is_folder ? 0 : after.mode & kRunBits);
  return after;
}

}  // namespace runnel::drive
