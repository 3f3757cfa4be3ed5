// Places where a test may mount on this system: a folder through FUSE, a letter through WinFsp as installed.
import { accessSync, constants, existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const addon = (path: string): boolean => existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)));

/** Looks at what the drive of each system needs; macOS and Windows are those of the CI's machines. */
const CAN_MOUNT: Partial<Record<NodeJS.Platform, () => boolean>> = {
  linux: () => {
    try {
      accessSync("/dev/fuse", constants.R_OK | constants.W_OK);
      return addon("build/drive.node");
    } catch {
      return false;
    }
  },
  darwin: () => existsSync("/Library/Filesystems/macfuse.fs") && addon("build/drive.node"),
  win32: () =>
    existsSync(
      join(process.env["ProgramFiles(x86)"] ?? "C:\\Program Files (x86)", "WinFsp", "bin", "winfsp-x64.dll"),
    ) && addon("prebuilds/win32-x64/drive.node"),
};

/** Letters from the end of the alphabet: the first are disks. */
const LETTERS = ["Z", "Y", "X", "W", "V", "U", "T", "S", "R"];

/** Returns true where this machine and user can mount. */
export function canMount(): boolean {
  return CAN_MOUNT[process.platform]?.() ?? false;
}

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
