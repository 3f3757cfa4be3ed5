// The system that this process runs on.
import { darwinSystem } from "./darwin/system.ts";
import { linuxSystem } from "./linux/system.ts";
import type { System } from "./system.ts";
import { windowsSystem } from "./windows/system.ts";

const SYSTEMS: Partial<Record<NodeJS.Platform, System>> = { darwin: darwinSystem, win32: windowsSystem };

export const thisSystem: System = SYSTEMS[process.platform] ?? linuxSystem;
