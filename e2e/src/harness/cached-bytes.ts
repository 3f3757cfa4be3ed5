// Contents that an agent has cached, as they lie on the disk.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Unit of `blocks` (stat(2)). */
const BLOCK_BYTES = 512;

/** Bytes on the disk of the contents in a cache folder (`runnel mount --cache`), holes not counted. */
export function cachedBytes(cache: string): number {
  const files = readdirSync(cache, { recursive: true, withFileTypes: true });
  const contents = files.filter((each) => each.isFile() && each.parentPath.includes("contents"));
  // Some may be evicted meanwhile.
  const blocks = contents.map(
    (each) => statSync(join(each.parentPath, each.name), { throwIfNoEntry: false })?.blocks ?? 0,
  );
  return BLOCK_BYTES * blocks.reduce((sum, each) => sum + each, 0);
}
