// Lists mounts, and takes them away by force. Never touches a mount itself: all comes from /proc and from the FUSE
// control file system, so that a hanging drive cannot hang whoever cleans up after it.
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { run } from "../run.ts";

const FUSE_CONNECTIONS = "/sys/fs/fuse/connections";

export interface Mount {
  mountpoint: string;
  /** Minor device number: the name of a FUSE connection. */
  minor: number;
  type: string;
  source: string;
}

/** Names in mountinfo have octal escapes for space, tab, newline and backslash. */
function unescapeName(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Lines of /proc/self/mountinfo (proc(5)). */
export function parseMountInfo(text: string): Mount[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , device = "", , mountpoint = ""] = before.split(" ");
      const [type = "", source = ""] = after.split(" ");
      return {
        mountpoint: unescapeName(mountpoint),
        minor: Number(device.split(":")[1]),
        type,
        source: unescapeName(source),
      };
    });
}

/** The mounts at or below a folder, the last mounted first. */
export function mountsBelow(folder: string): Mount[] {
  return parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8"))
    .filter(({ mountpoint }) => mountpoint === folder || mountpoint.startsWith(`${folder}/`))
    .toReversed();
}

/** Returns true when something is mounted at exactly this place. */
export function isMounted(mountpoint: string): boolean {
  return mountsBelow(mountpoint).some((mount) => mount.mountpoint === mountpoint);
}

/** Ends a FUSE connection: every request under way fails, whoever waited in the kernel comes free. */
export async function abortFuse(mount: Mount): Promise<void> {
  if (!mount.type.startsWith("fuse")) return;
  const path = `${FUSE_CONNECTIONS}/${mount.minor}/abort`;
  if (!existsSync(path)) await run("mount", ["-t", "fusectl", "none", FUSE_CONNECTIONS], { deadlineMs: 5000 });
  const isStill = ({ minor, mountpoint }: Mount): boolean => minor === mount.minor && mountpoint === mount.mountpoint;
  try {
    const file = openSync(path, "w");
    // The number of one that has gone meanwhile may be another test's by now; a file that is open is of one connection.
    if (mountsBelow(mount.mountpoint).some(isStill)) writeSync(file, "1");
    closeSync(file);
  } catch {
    // Gone, or not ours to abort: the lazy unmount has to do.
  }
}

export async function unmountByForce(mount: Mount): Promise<void> {
  await abortFuse(mount);
  const unmounted = await run("umount", ["-l", mount.mountpoint], { deadlineMs: 5000 });
  if (unmounted.code !== 0) await run("fusermount3", ["-uz", mount.mountpoint], { deadlineMs: 5000 });
}
