// macOS: as Linux, but for its mounts.
import { posixSystem } from "../posix/system.ts";
import type { System } from "../system.ts";
import { DarwinMountTable } from "./mount-table.ts";

export const darwinSystem: System = { ...posixSystem, mountTable: (clock) => new DarwinMountTable(clock) };
