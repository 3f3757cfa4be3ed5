// Owners and permissions of the volume, which are numbers and bits, as security descriptors of Windows, and back.
//
// uid U is the account S-1-22-1-U and gid G the group S-1-22-2-G, as Samba shows them; only kPersonUid and kPersonGid
// are who the agent runs for. The list of access rights holds what the bits say, each class for itself: an owner whose
// bits allow less than those of everyone has less. Whoever may read a file may run it, since programs come without such
// a bit here; a file's bits to run it are kept as they are. That something may be removed is the right to change its
// folder.
#ifndef RUNNEL_DRIVE_WINFSP_SECURITY_H_
#define RUNNEL_DRIVE_WINFSP_SECURITY_H_

#include <cstdint>
#include <vector>

#include "src/drive/drive.h"
#include "winfsp_api.h"

namespace runnel::drive {

// The number that most systems give their first person. The agent shows it as the owner where everything is to be the
// person's (WINDOWS_PERSON of drive.ts).
constexpr uint32_t kPersonUid = 1000;
constexpr uint32_t kPersonGid = 1000;

// Modes of what is made here: nothing says otherwise.
constexpr uint32_t kNewFileMode = 0644;
constexpr uint32_t kNewFolderMode = 0755;

using Bytes = std::vector<uint8_t>;

// The account that this process runs as.
struct Person {
  Bytes user;   // its SID
  Bytes group;  // and that of its primary group
};
Person ThisPerson();

// A self-relative security descriptor with owner, group and access rights.
Bytes DescriptorOf(const Attributes& attributes, const Person& person);

// Owner and permissions after `information` of a descriptor has been set on what has `attributes`: what is left out, or
// means nothing on a volume, stays.
struct Ownership {
  uint32_t mode;  // permissions only
  uint32_t uid;
  uint32_t gid;
};
Ownership OwnershipAfter(const Attributes& attributes, SECURITY_INFORMATION information,
                         PSECURITY_DESCRIPTOR descriptor, const Person& person);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_WINFSP_SECURITY_H_
