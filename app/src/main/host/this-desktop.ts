// The desktop of the system that this process runs on.
import { darwinDesktop } from "./darwin/desktop-system.ts";
import type { DesktopSystem } from "./desktop-system.ts";
import { linuxDesktop } from "./linux/desktop-system.ts";
import { windowsDesktop } from "./windows/desktop-system.ts";

const DESKTOPS: Partial<Record<NodeJS.Platform, DesktopSystem>> = { darwin: darwinDesktop, win32: windowsDesktop };

export const thisDesktop: DesktopSystem = DESKTOPS[process.platform] ?? linuxDesktop;
