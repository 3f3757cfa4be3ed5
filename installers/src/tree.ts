// A tree of files that is to be packed: a plan first, which costs nothing to look at, then a folder. What is written is
// the same wherever and whenever it is done: modes and times come from the plan and the release, never from the clone.
import {
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Version and time of what is packed. */
export interface Release {
  version: string;
  /** Time of every file in every package: that of the commit. */
  epochSeconds: number;
  /** Level of xz, 0 to 9: whoever only tries a package out need not wait for a small one. */
  level: number;
}

export const PROGRAM = 0o755;
export const PLAIN = 0o644;

/** A file that is copied, a file of this text, or a symlink. */
export type Entry = { source: string; mode: number } | { text: string; mode: number } | { target: string };

/** Path below the root of the tree, "/"-separated → what is there. */
export type Tree = ReadonlyMap<string, Entry>;

/** Returns the tree with every path below a folder. */
export function below(folder: string, tree: Tree): Tree {
  return new Map([...tree].map(([path, entry]) => [`${folder}/${path}`, entry]));
}

/** Joins trees. @throws Error when two of them have the same path. */
export function joined(...trees: readonly Tree[]): Tree {
  const all = new Map<string, Entry>();
  for (const [path, entry] of trees.flatMap((tree) => [...tree])) {
    if (all.has(path)) throw new Error(`${path} comes from two places.`);
    all.set(path, entry);
  }
  return all;
}

/** Paths of the plain files below a folder, relative to it, sorted; other kinds of files are passed over. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

/** Writes the tree into a folder, which is made. */
export function writeTree(tree: Tree, folder: string, { epochSeconds }: Pick<Release, "epochSeconds">): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, entry] of [...tree].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const to = join(folder, path);
    mkdirSync(dirname(to), { recursive: true });
    if ("target" in entry) {
      symlinkSync(entry.target, to);
      continue;
    }
    if ("source" in entry) copyFileSync(entry.source, to, constants.COPYFILE_FICLONE);
    else writeFileSync(to, entry.text);
    chmodSync(to, entry.mode);
  }
  settle(folder, epochSeconds);
}

/** Gives folders their mode, and everything its time; a folder after what is in it. */
export function settle(path: string, epochSeconds: number): void {
  if (lstatSync(path).isDirectory()) {
    for (const name of readdirSync(path)) settle(join(path, name), epochSeconds);
    chmodSync(path, PROGRAM);
  }
  lutimesSync(path, epochSeconds, epochSeconds);
}

/** Bytes of the files in a folder. */
export function sizeOf(folder: string): number {
  return filesIn(folder).reduce((sum, path) => sum + lstatSync(join(folder, path)).size, 0);
}
