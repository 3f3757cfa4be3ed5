// Places where a test may mount on this system: a folder through FUSE, a letter through WinFsp as installed.
import { accessSync, constants, existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { join, win32 as winPath } from "node:path";
import { fileURLToPath } from "node:url";

const NATIVE = fileURLToPath(new URL("../..", import.meta.url));

/** Looks for what the drive of each system needs; macOS and Windows are those of the CI's machines. */
const NEEDED: Partial<Record<NodeJS.Platform, (exists: (path: string) => boolean) => Need[]>> = {
  linux: (exists) => [
    ["/dev/fuse is not for this user", canUse("/dev/fuse")],
    ["native/build/drive.node is not built: it needs fuse3", exists(join(NATIVE, "build/drive.node"))],
  ],
  darwin: (exists) => [
    ["macFUSE is not installed", exists("/Library/Filesystems/macfuse.fs")],
    ["native/build/drive.node is not built: it needs macFUSE's libfuse3", exists(join(NATIVE, "build/drive.node"))],
  ],
  win32: (exists) => [
    ["WinFsp is not installed", exists(winPath.join(programFiles(), "WinFsp", "bin", "winfsp-x64.dll"))],
    ["native/prebuilds/win32-x64/drive.node is not there", exists(join(NATIVE, "prebuilds/win32-x64/drive.node"))],
  ],
};

/** A sentence's beginning that says what is missing, and whether it is there. */
type Need = readonly [missing: string, isThere: boolean];

const programFiles = (): string => process.env["ProgramFiles(x86)"] ?? "C:\\Program Files (x86)";

function canUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Letters from the end of the alphabet: the first are disks. */
const LETTERS = ["Z", "Y", "X", "W", "V", "U", "T", "S", "R"];

/** Why this machine and user can mount nothing; undefined where they can. The parameters are for the tests of it. */
export function mountObstacle(
  platform: NodeJS.Platform = process.platform,
  exists: (path: string) => boolean = existsSync,
): string | undefined {
  const needs = NEEDED[platform]?.(exists) ?? [[`there is no drive for ${platform}`, false]];
  return needs.find(([, isThere]) => !isThere)?.[0];
}

/** Returns true where this machine and user can mount. */
export const canMount = (): boolean => mountObstacle() === undefined;

export interface MountPlace {
  /** The folder or letter that a drive is given. */
  mountpoint: string;
  /** The root of the drive, as programs name it. */
  root: string;
  /** Proves that nothing is mounted there any more; throws when something is. */
  leave(): Promise<void>;
}

/** A place where nothing is; a folder is made in `folder`. */
export async function newMountPlace(folder: string): Promise<MountPlace> {
  if (process.platform !== "win32") {
    const mountpoint = join(folder, "mount");
    await mkdir(mountpoint);
    // Outside the mount's namespace it is, and always was, an empty folder.
    return { mountpoint, root: mountpoint, leave: () => rmdir(mountpoint) };
  }
  const letter = LETTERS.find((each) => !existsSync(`${each}:\\`));
  if (letter === undefined) throw new Error("No letter is free for a drive.");
  const root = `${letter}:\\`;
  return {
    mountpoint: `${letter}:`,
    root,
    leave: async () => {
      if (existsSync(root)) throw new Error(`${root} is still there.`);
    },
  };
}
