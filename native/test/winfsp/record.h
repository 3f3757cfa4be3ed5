// Records that programs and the stand-in send one another over a connection. Numbers have 8 bytes, the lowest first;
// bytes stand behind their number; a text is bytes, in UTF-16. A record is bytes, which hold
//
//     of a program: id, call, place, path, to, bytes, disposition, access, options, attributes, handle, offset, size,
//                   atime, mtime, is_on
//     in answer:    id, status, handle, bytes, the number of rows, rows, each of a text, the number of numbers, numbers
//
// with call, place (the letter or share of the drive that is meant; empty: the last that was made), path and to as
// texts. Answers come as they are ready, and name the id that the program gave.
#ifndef RUNNEL_TEST_WINFSP_RECORD_H_
#define RUNNEL_TEST_WINFSP_RECORD_H_

#include "driver.h"

namespace runnel::test {

struct Request {
  uint64_t id = 0;
  std::string call;
  std::wstring place;
  Asked asked;
};

struct Row {
  std::wstring text;
  std::vector<uint64_t> numbers;
};

struct Answer {
  NTSTATUS status = STATUS_SUCCESS;
  int64_t handle = 0;
  std::string bytes;
  std::vector<Row> rows;
};

// Reads what a record holds. False when it ends too early, or too late.
bool ReadRequest(const std::string& record, Request* request);

// The record, with its number of bytes before it.
std::string RecordOf(uint64_t id, const Answer& answer);

// The rows: the text with the file's information, where there is any; the volume's label, size and free space; the
// names, each with its information.
Answer AnswerOf(StandInReply told);

}  // namespace runnel::test

#endif  // RUNNEL_TEST_WINFSP_RECORD_H_
