// Checks for FUSE: the kernel's device, and the program that maps and ends drives.
import { constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Checked, DRIVES, opens } from "../checked.ts";
import type { Environment } from "../system.ts";

const FUSE_DEVICE = "/dev/fuse";
const MOUNT_HELPER = "fusermount3";

export async function checkDrives(environment: Environment, root: string): Promise<Checked> {
  if (!(await opens(join(root, FUSE_DEVICE), constants.R_OK | constants.W_OK)))
    return {
      about: DRIVES,
      isFine: false,
      sentence: `${FUSE_DEVICE} is not there or may not be opened, so no drive can be mapped.`,
      next: "Load the kernel's module (modprobe fuse), and in a container allow the device.",
    };
  const places = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = await Promise.all(places.map((folder) => opens(join(folder, MOUNT_HELPER), constants.X_OK)));
  if (!found.includes(true))
    return {
      about: DRIVES,
      isFine: false,
      sentence: `${MOUNT_HELPER} is not there, which maps and ends drives.`,
      next: "Install it: apt-get install fuse3",
    };
  return { about: DRIVES, isFine: true, sentence: "The kernel can show drives.", next: null };
}
