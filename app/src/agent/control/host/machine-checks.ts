// Looks at what this computer needs for drives: that its kernel shows them, and that the disks have room.
import { constants } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fromSystemError } from "@runnel/shared/base";
import prettyBytes from "pretty-bytes";
import type { Environment } from "./system.ts";

/** Result of a look, for a person. */
export interface Checked {
  /** Subject, in a word or two. */
  about: string;
  isFine: boolean;
  sentence: string;
  /** Says what to do about it; null where nothing is to be done. */
  next: string | null;
}

/** Room below which a disk is called tight. */
const TIGHT_BYTES = 1024 ** 3;
const DRIVES = "Drives";
const FUSE_DEVICE = "/dev/fuse";
const MOUNT_HELPER = "fusermount3";
const WINFSP = join("WinFsp", "bin", "winfsp-x64.dll");

/** Checks whether the kernel can show drives. @returns undefined on a system of which that is not known. */
export async function checkDrives(
  platform: NodeJS.Platform = process.platform,
  environment: Environment = process.env,
): Promise<Checked | undefined> {
  if (platform === "win32") return checkWinFsp(environment["ProgramFiles(x86)"] ?? "C:\\Program Files (x86)");
  return platform === "linux" ? checkFuse(environment["PATH"] ?? "") : undefined;
}

function opens(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}

/** Checks for WinFsp where its installer puts it, unless a person chose another folder. */
async function checkWinFsp(programs: string): Promise<Checked> {
  if (await opens(join(programs, WINFSP), constants.R_OK))
    return { about: DRIVES, isFine: true, sentence: "WinFsp, which shows drives, is installed.", next: null };
  const sentence = `WinFsp, which shows drives, is not in ${programs}.`;
  const next = "Unless it is elsewhere, install it from https://github.com/winfsp/winfsp.";
  return { about: DRIVES, isFine: false, sentence, next };
}

/** `path`: where programs are looked for. */
async function checkFuse(path: string): Promise<Checked> {
  if (!(await opens(FUSE_DEVICE, constants.R_OK | constants.W_OK)))
    return {
      about: DRIVES,
      isFine: false,
      sentence: `${FUSE_DEVICE} is not there or may not be opened, so no drive can be mapped.`,
      next: "Load the kernel's module (modprobe fuse), and in a container allow the device.",
    };
  const places = path.split(delimiter).filter((folder) => folder !== "");
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

/** Checks the room on the disk of a folder, which holds this. */
export async function checkRoom(folder: string, holds: string): Promise<Checked> {
  const about = `Disk with ${holds}`;
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const sentence = `${prettyBytes(free, { binary: true })} are free at ${folder}.`;
    return { about, isFine: free >= TIGHT_BYTES, sentence, next: free >= TIGHT_BYTES ? null : "Make room there." };
  } catch (error) {
    const { message } = fromSystemError(error, "look at a disk");
    return { about, isFine: false, sentence: message, next: `Look whether ${folder} is there.` };
  }
}
