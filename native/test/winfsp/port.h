// The port of 127.0.0.1 at which programs of Windows reach the stand-in for WinFsp's driver. A connection is a program:
// it has as many requests under way as it likes, knows the handles that it opened and no others, and what it has open
// is cleaned up and closed when it ends, as Windows does for a process.
//
// Threads: one accepts; each connection has one that reads and one that writes, so that no thread of a file system
// waits for a program. The requests themselves run on the file system's (driver.h). Nothing here knows JavaScript.
#ifndef RUNNEL_TEST_WINFSP_PORT_H_
#define RUNNEL_TEST_WINFSP_PORT_H_

namespace runnel::test {

// Listens, once a process, and writes the number of the port into a file beside the library, of its name with .port and
// the number of the process. False when the system does not let it.
bool Listen();

}  // namespace runnel::test

#endif  // RUNNEL_TEST_WINFSP_PORT_H_
