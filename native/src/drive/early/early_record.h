// A change that a program was answered, as bytes of the log.
#ifndef RUNNEL_DRIVE_EARLY_EARLY_RECORD_H_
#define RUNNEL_DRIVE_EARLY_EARLY_RECORD_H_

#include <optional>
#include <string>
#include <string_view>

#include "src/drive/drive.h"

namespace runnel::drive {

std::string EncodeEarly(const Message& message);
// Nothing for what this program has not written.
std::optional<Message> DecodeEarly(std::string_view record);

}  // namespace runnel::drive

#endif  // RUNNEL_DRIVE_EARLY_EARLY_RECORD_H_
