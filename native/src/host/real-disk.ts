// Disk on the machine's own file system.
import { resolve } from "node:path";
import type { Disk, DiskRoot } from "@runnel/shared";
import { coreAddon } from "./core-addon.ts";
import type { DescriptorGate } from "./descriptor-gate.ts";
import { checkSize, checkText } from "./disk-arguments.ts";
import { RealRoot } from "./real-root.ts";
import { systemCall } from "./system-call.ts";

/** With a gate, as many files of its roots are open at once as that lets. */
export function realDisk(gate?: DescriptorGate): Disk {
  const core = coreAddon();
  return {
    async openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot> {
      checkText(path, "open root");
      const absolute = resolve(path);
      if (make) {
        checkSize(make.permissions, "permissions");
        await systemCall("make root", core.makeRoot(absolute, make.permissions));
      }
      return new RealRoot(absolute, await systemCall("open root", core.openRoot(absolute)), gate);
    },
  };
}

/**
 * Names the system's current boot: what a killed process wrote is still there in the same boot, after another one
 * perhaps not. @returns "" where the system does not say
 */
export function systemBoot(): string {
  return coreAddon().systemBoot;
}

/** The number of files that this process may have open at once. */
export function descriptorLimit(): number {
  return coreAddon().descriptorLimit;
}
