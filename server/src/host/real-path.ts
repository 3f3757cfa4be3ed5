// Resolves where a path leads.
import { realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/** The path with its symlinks resolved, as far as it exists; as it is where it cannot be followed. */
export async function realPath(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), relative(at, path));
    } catch {
      if (at === dirname(at)) return path;
    }
  }
}
