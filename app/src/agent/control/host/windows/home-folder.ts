// The place for what a program keeps on Windows: a folder of the profile that stays on this computer, and that Windows
// itself keeps to its user.
import { win32 } from "node:path";
import type { Environment } from "../system.ts";

export function homeFolder(user: string, environment: Environment): string {
  return win32.join(environment["LOCALAPPDATA"] ?? win32.join(user, "AppData", "Local"), "Runnel");
}

export function claimHome(): void {}
