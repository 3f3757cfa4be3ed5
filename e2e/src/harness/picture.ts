// All that a folder holds, as a program sees it: what two pictures have in common is what two places show alike.
import { onMountInNode, type RunOptions } from "./run.ts";

/**
 * Entries by path: type, mode, owner, mtime in nanoseconds, and the content's digest, the target, or the number of the
 * device; names of one file share its first path.
 */
export type Picture = Record<string, string>;

/**
 * Taken by a process of its own. The store's folder is left out. `isOfNames`: only paths, types, modes, targets and
 * contents.
 */
export async function pictureOf(folder: string, options: RunOptions & { isOfNames?: boolean } = {}): Promise<Picture> {
  const { isOfNames = false, ...running } = options;
  const lines = await onMountInNode(take, { folder, isOfNames }, { deadlineMs: 240_000, ...running });
  return Object.fromEntries(lines);
}

/** The picture as a served folder has it: owners and set-uid, set-gid and sticky bits show on drives only [F168]. */
export function asServed(picture: Picture): Picture {
  const plain = (about: string): string =>
    about
      .replace(/^mode (\d+)/, (_, mode: string) => `mode ${(parseInt(mode, 8) & ~0o7000).toString(8)}`)
      .replace(/owner \d+:\d+, /, "");
  return Object.fromEntries(Object.entries(picture).map(([path, about]) => [path, plain(about)]));
}

/** Returns at most `max` lines about what differs, for a person: empty when the pictures are alike. */
export function differences(one: Picture, other: Picture, max = 10): string[] {
  const paths = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...paths]
    .filter((path) => one[path] !== other[path])
    .slice(0, max)
    .map((path) => `${JSON.stringify(path)}: ${one[path] ?? "missing"} | ${other[path] ?? "missing"}`);
}

async function take({ folder, isOfNames }: { folder: string; isOfNames: boolean }): Promise<[string, string][]> {
  const { lstatSync, readdirSync, readFileSync, readlinkSync } = await import("node:fs");
  const { createHash } = await import("node:crypto");
  const firsts = new Map<bigint, string>();
  const lines: [string, string][] = [];
  const look = (path: string): void => {
    const full = `${folder}/${path}`;
    const stat = lstatSync(full, { bigint: true });
    const about: unknown[] = [`mode ${(Number(stat.mode) & 0o177777).toString(8)}`];
    if (!isOfNames) about.push(`owner ${stat.uid}:${stat.gid}`, `mtime ${stat.mtimeNs}`);
    if (stat.isSymbolicLink()) about.push(`to ${readlinkSync(full)}`);
    if (stat.isBlockDevice() || stat.isCharacterDevice()) about.push(`device ${stat.rdev}`);
    if (stat.isFile()) {
      about.push(`${stat.size} bytes`, createHash("sha256").update(readFileSync(full)).digest("base64url"));
      if (stat.nlink > 1n && !isOfNames) {
        const first = firsts.get(stat.ino) ?? path;
        firsts.set(stat.ino, first);
        about.push(`${stat.nlink} names`, first);
      }
    }
    lines.push([path, about.join(", ")]);
    if (!stat.isDirectory()) return;
    for (const name of readdirSync(full).sort())
      if (name !== ".runnel-store") look(path === "" ? name : `${path}/${name}`);
  };
  for (const name of readdirSync(folder).sort()) if (name !== ".runnel-store") look(name);
  return lines;
}
