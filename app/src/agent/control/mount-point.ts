// Finds out whether a folder can become a mount point, and where a path leads, without ever touching a mount of Runnel:
// the path is walked part by part, and the mount table is asked before each part is looked at.
import { isRunnelMount, isWithin, type MountTableEntry, RunnelError } from "@runnel/shared/base";
import type { FolderView } from "./host/folder-view.ts";
import { quoted } from "./quoted.ts";

/** Linux's own bound (path_resolution(7)). */
const SYMLINKS_MAX = 40;

/** Lies in every folder that a server serves. */
const STORE_FOLDER = ".runnel-store";

/** A path with the symlinks on the way resolved, up to the first mount of Runnel on it. */
export interface ResolvedPath {
  path: string;
  /** The mount of Runnel at this path or above it. */
  runnelMount: string | undefined;
  type: "folder" | "other" | "missing";
  /** Folders above it, all outside mounts of Runnel. */
  above: string[];
}

/**
 * Walks a path. @throws RunnelError NotFound when a folder above its end is missing (unless the end `mayBeMissing`),
 * NotFolder for a file above it and for a circle of symlinks, Invalid for a name that is none of a file, Denied,
 * NameTooLong.
 */
export async function resolvePath(
  asked: string,
  mounts: readonly MountTableEntry[],
  folders: FolderView,
  mayBeMissing = false,
): Promise<ResolvedPath> {
  const { paths } = folders;
  const runnelMounts = new Map(
    mounts.filter(isRunnelMount).map(({ mountpoint }) => [paths.fold(mountpoint), mountpoint]),
  );
  const whole = paths.spell(asked);
  const why = paths.whyNoPath(whole);
  if (why !== undefined) refuse("Invalid", why);
  const named = paths.driveOf(whole);
  if (named === whole && !runnelMounts.has(named)) return freeName(named, folders);
  const above: string[] = [];
  let { root: at, names: left } = paths.split(whole);
  let symlinks = 0;
  for (;;) {
    const drive = paths.driveOf(at);
    if (drive !== undefined && runnelMounts.has(drive)) {
      const path = left.length === 0 ? drive : paths.files.join(at, ...left);
      return { path, runnelMount: drive, type: "folder", above };
    }
    const part = left.shift();
    if (part === undefined) return { path: at, runnelMount: undefined, type: "folder", above };
    if (part === "..") {
      at = paths.files.dirname(at);
      above.pop();
      continue;
    }
    const next = paths.files.join(at, part);
    const mountpoint = runnelMounts.get(paths.fold(next));
    if (mountpoint !== undefined) {
      const path = paths.files.join(mountpoint, ...left);
      return { path, runnelMount: mountpoint, type: "folder", above: [...above, at] };
    }
    const found = await folders.probe(next);
    if (found.type === "symlink") {
      symlinks += 1;
      if (symlinks > SYMLINKS_MAX) refuse("NotFolder", `${asked} is a circle of symlinks. Choose another path.`);
      if (paths.isAbsolute(found.target)) {
        const target = paths.split(found.target);
        at = target.root;
        left = [...target.names, ...left];
        above.length = 0;
      } else left = [...paths.namesOf(found.target), ...left];
      continue;
    }
    if (found.type === "other" && left.length > 0) refuse("NotFolder", `${next} is not a folder. Choose another path.`);
    if (found.type === "missing" && left.length > 0 && !mayBeMissing)
      refuse(
        "NotFound",
        `${next} does not exist. Choose another path, or make this one first: mkdir -p ${quoted(asked)}`,
      );
    above.push(at);
    at = found.type === "missing" ? paths.files.join(next, ...left) : next;
    if (found.type !== "folder") return { path: at, runnelMount: undefined, type: found.type, above };
  }
}

/** Resolves to the letter where no drive has it, else to the root of that drive; a share is not looked at. */
async function freeName(name: string, folders: FolderView): Promise<ResolvedPath> {
  const root = folders.paths.folderAt(name);
  const isFree = root === undefined || (await folders.probe(root)).type === "missing";
  return { path: isFree ? name : root, runnelMount: undefined, type: isFree ? "missing" : "folder", above: [] };
}

/** Folders of this agent that no drive may hide, and that may hold no drive. */
export interface OwnFolders {
  home: string;
  cache: string;
}

/**
 * With `isDead`, what an earlier agent left there covers the folder, and is not touched: what lies in the folder was
 * looked at then.
 * @throws RunnelError with one sentence when a drive cannot be mounted at this path.
 */
export async function checkMountPoint(
  point: ResolvedPath,
  mounts: readonly MountTableEntry[],
  folders: FolderView,
  own: OwnFolders,
  isDead = false,
): Promise<void> {
  const { path, runnelMount } = point;
  if (runnelMount === path && !isDead)
    refuse("Exists", `${path} is already a drive of another agent. Unmount it there first.`);
  if (runnelMount !== undefined && runnelMount !== path) {
    refuse("Invalid", `${path} lies inside the drive ${runnelMount}. Choose a folder outside of it.`);
  }
  if (folders.paths.mountPoints === "names") return checkName(point, folders);
  if (point.type === "missing") refuse("NotFound", `${path} does not exist. Make it first: mkdir ${quoted(path)}`);
  if (point.type === "other") refuse("NotFolder", `${path} is not a folder. Choose an empty folder.`);
  if (!isDead && mounts.some((entry) => entry.mountpoint === path)) {
    refuse("Exists", `Something else is already mounted at ${path}. Choose another folder.`);
  }
  for (const folder of [own.cache, own.home]) {
    if (isWithin(folder, path))
      refuse("Invalid", `${path} would hide Runnel's own files in ${folder}. Choose another folder.`);
  }
  if (isWithin(path, own.cache))
    refuse("Invalid", `${path} lies in the cache. Choose a folder outside of ${own.cache}.`);
  for (const folder of isDead ? point.above : [...point.above, path]) {
    if ((await folders.probe(folders.paths.files.join(folder, STORE_FOLDER))).type === "folder") {
      refuse("Invalid", `${path} lies in ${folder}, which a server serves. Choose a folder outside of it.`);
    }
  }
  if (isDead) return;
  if (!(await folders.mayWrite(path)))
    refuse(
      "Denied",
      `You may not write to ${path}, and FUSE maps drives only where one may. Choose a folder of your own.`,
    );
  if (!(await folders.isEmpty(path))) refuse("NotEmpty", `${path} is not empty. Choose an empty folder.`);
}

/** Nothing lies at a letter that no drive has; whether a share is free, whoever makes it says. @throws RunnelError */
function checkName({ path }: ResolvedPath, { paths }: FolderView): void {
  const drive = paths.driveOf(path);
  if (drive !== undefined && paths.folderAt(drive) === path)
    refuse("Exists", `${drive} is the letter of another drive. Choose a free one.`);
  const why = paths.whyNoDrive(path);
  if (why !== undefined) refuse("Invalid", why);
}

/**
 * A folder that Runnel is to keep something in, followed to where it leads. @throws RunnelError Invalid when that is in
 * a drive: whoever answers the drive would wait for itself.
 */
export async function resolveOwnFolder(
  asked: string,
  mounts: readonly MountTableEntry[],
  folders: FolderView,
): Promise<string> {
  const { path, runnelMount } = await resolvePath(asked, mounts, folders, true);
  if (runnelMount === undefined) return path;
  const sentence = `${path} lies inside the drive ${runnelMount}: Runnel cannot keep its own files there. Choose a folder on a local disk.`;
  throw new RunnelError("Invalid", "choose a folder", sentence);
}

function refuse(
  kind: "Denied" | "Exists" | "Invalid" | "NotEmpty" | "NotFolder" | "NotFound",
  sentence: string,
): never {
  throw new RunnelError(kind, "mount", sentence);
}
