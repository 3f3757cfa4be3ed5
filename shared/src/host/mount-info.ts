// Lists what is mounted where, as Linux says, without touching any mount: a drive whose agent has ended or hangs
// answers errors or nothing.
import { readFile } from "node:fs/promises";

export interface MountTableEntry {
  mountpoint: string;
  /** MAJOR:MINOR */
  device: string;
  fileSystem: string;
  source: string;
}

/** Every mount of this process's view, the one on top last; none on a system that does not say it in a file. */
export async function readMountTable(): Promise<MountTableEntry[]> {
  if (process.platform !== "linux") return [];
  return parseMountInfo(await readFile("/proc/self/mountinfo", "utf8"));
}

const SERVED = "served";
/** Names of FUSE on Linux, and of macFUSE. */
const FUSE = /^(fuse|macfuse|osxfuse)/;

/** True for a drive that some agent has mapped. Its source is "runnel:" and the volume. */
export function isRunnelMount(entry: MountTableEntry): boolean {
  return (FUSE.test(entry.fileSystem) || entry.fileSystem === SERVED) && entry.source.startsWith("runnel:");
}

/** A drive that its agent serves over NFS: the system lists another's file system at its mount point, or none. */
export function servedDrive(mountpoint: string): MountTableEntry {
  return { mountpoint, device: "", fileSystem: SERVED, source: "runnel:" };
}

/** The drive that a path (absolute, without symlinks) is or lies in. */
export function driveAbove(path: string, mounts: readonly MountTableEntry[]): string | undefined {
  return mounts.findLast((entry) => isRunnelMount(entry) && isWithin(path, entry.mountpoint))?.mountpoint;
}

/** True when a path is a folder or lies in it. Both absolute. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * Parses /proc/PID/mountinfo (proc(5)): blanks and such in paths are octal escapes. Lines of another shape are skipped.
 */
export function parseMountInfo(text: string): MountTableEntry[] {
  const entries: MountTableEntry[] = [];
  for (const line of text.split("\n")) {
    // id parent major:minor root MOUNTPOINT options [tags…] - FILESYSTEM SOURCE options
    const [before, after] = line.split(" - ", 2);
    const [, , device, , mountpoint] = before?.split(" ") ?? [];
    const [fileSystem, source] = after?.split(" ") ?? [];
    if (device === undefined || mountpoint === undefined || fileSystem === undefined || source === undefined) continue;
    entries.push({ mountpoint: unescapePath(mountpoint), device, fileSystem, source: unescapePath(source) });
  }
  return entries;
}

/** The escapes stand for bytes of a UTF-8 path, but only for ASCII ones: blank, tab, newline, backslash, #. */
function unescapePath(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
}
