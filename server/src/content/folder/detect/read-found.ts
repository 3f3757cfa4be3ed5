// Reads a file that a probe has found, as long as it is that one.
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { isRunnelError, withFile } from "@runnel/shared";
import type { FoundEntry } from "../disk/found.ts";
import { isSameHandle } from "../disk/same-file.ts";

/**
 * @returns undefined when another file lies there now, or when it is gone, shorter, or not to be read: then nothing is
 * known.
 */
export async function readFound<T>(
  root: DiskRoot,
  path: string,
  { handle }: FoundEntry,
  use: (file: DiskFile) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withFile(root, path, "read", async (file) => {
      return isSameHandle(await file.handle(), handle) ? use(file) : undefined;
    });
  } catch (error) {
    if (isRunnelError(error)) return undefined;
    throw error;
  }
}
