// A drive's requests as an agent's event loop hears of them: never within what led to them, as a thread-safe function
// of the real addon calls it, and when the loop comes to it; in their order.
import type { DriveNotice, DriveRequest, MemoryDrive } from "@runnel/native/drive";
import type { Process } from "../simulation/machine.ts";

/** `lateMs`: how long the loop is busy with something else first. */
export function tellLate(drive: MemoryDrive, process: Process, lateMs: () => number): MemoryDrive {
  const { clock } = process.machine;
  let dueMs = 0;
  const later = (tell: () => void): void => {
    const nowMs = clock.bootMs();
    dueMs = Math.max(dueMs, nowMs + lateMs());
    clock.after(dueMs - nowMs, () => process.event(tell));
  };
  const start: MemoryDrive["start"] = (on) =>
    drive.start({
      requests: (batch: DriveRequest[]) => later(() => on.requests(batch)),
      notice: (notice: DriveNotice) => later(() => on.notice(notice)),
    });
  // Behind what it was told before.
  const given: MemoryDrive["given"] = async () => {
    await drive.given();
    await new Promise<void>((resolve) => later(resolve));
  };
  return new Proxy(drive, {
    get: (target, property) => {
      if (property === "start") return start;
      if (property === "given") return given;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
