// The system that this process runs on.
import { posixSystem } from "./posix/system.ts";
import type { System } from "./system.ts";
import { windowsSystem } from "./windows/system.ts";

export const thisSystem: System = process.platform === "win32" ? windowsSystem : posixSystem;
