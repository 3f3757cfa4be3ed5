// Identifies the system's current boot: what a killed process wrote is still there in the same boot, after another one
// perhaps not.
/* oxlint-disable node/no-sync -- 37 bytes that the kernel makes up, once for each mount */
import { readFileSync } from "node:fs";

/** Linux's name of the current boot; "" where there is none. */
export function systemBoot(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
