// Linux, and others like it.
import { posixSystem } from "../posix/system.ts";
import type { System } from "../system.ts";
import { checkDrives } from "./drive-check.ts";
import { homeFolder } from "./home-folder.ts";
import { opener } from "./opener.ts";

export const linuxSystem: System = { ...posixSystem, homeFolder, opener, checkDrives };
