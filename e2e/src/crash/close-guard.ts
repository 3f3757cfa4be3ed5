// Has a drive guarded, and closes the guard's pipe without a word once a line has come, as the end of a process does a
// moment before the kernel tells of it; then lives on until its input ends. argv: DRIVE
import { once } from "node:events";
import { closeSync, readdirSync, readlinkSync } from "node:fs";
import { RealClock } from "@runnel/shared";
import { LinuxMountTable } from "@runnel/app/internals";

function sockets(): Set<number> {
  const found = new Set<number>();
  for (const name of readdirSync("/proc/self/fd")) {
    try {
      if (readlinkSync(`/proc/self/fd/${name}`).startsWith("socket:")) found.add(Number(name));
    } catch {
      // The one of the listing itself is gone.
    }
  }
  return found;
}

const before = sockets();
await new LinuxMountTable(new RealClock()).endWithProcess(process.argv[2] ?? "");
process.stdout.write("guards\n");
await once(process.stdin, "data");
for (const fd of sockets()) if (!before.has(fd)) closeSync(fd);
process.stdout.write("closed\n");
process.stdin.resume();
