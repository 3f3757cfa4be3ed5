// Finds what lies in which folder, by the text of absolute paths of this system.
import systemPaths, { type PlatformPath } from "node:path";

/** Returns the path that a root at the folder takes for what lies in it; undefined for what does not. */
export function pathBelow(folder: string, path: string, files: PlatformPath = systemPaths): string | undefined {
  const found = files.relative(folder, path);
  const names = found.split(files.sep);
  return found === "" || names[0] === ".." || files.isAbsolute(found) ? undefined : names.join("/");
}

/** Returns the deepest folder that is both or holds both; undefined for places under two letters of Windows. */
export function commonFolder(one: string, other: string, files: PlatformPath = systemPaths): string | undefined {
  for (let at = one; ; at = files.dirname(at)) {
    if (at === other || pathBelow(at, other, files) !== undefined) return at;
    if (at === files.dirname(at)) return undefined;
  }
}
