// Taking in a complete file that lies outside the cache's folder.
import type { DiskFile, DiskRoot } from "@runnel/shared";
import type { CacheOptions } from "./cache-options.ts";
import type { ContentFiles } from "./content-files.ts";
import type { Content } from "./content.ts";
import { pathBelow } from "./path-below.ts";

/**
 * Makes the file at an absolute path the content's: a second name where it lies in the same root and has that length,
 * else a copy within the system. @throws TypeError for a path outside the roots, NotFound, NoSpace, Io.
 */
export async function takeIn(
  path: string,
  content: Content,
  files: ContentFiles,
  { root, adoptFrom }: CacheOptions,
): Promise<void> {
  const own = pathBelow(root.path, path);
  if (own !== undefined && (await root.stat(own)).sizeBytes === content.sizeBytes) {
    await files.link(own, content.id);
    return;
  }
  const source = await openSource(path, adoptFrom === undefined ? [root] : [root, adoptFrom]);
  try {
    const file = await files.make(content.id, content.sizeBytes);
    content.file = Promise.resolve(file);
    // Short where the file ends early: the rest is a hole, zeros.
    await file.copyFrom(source, 0, 0, content.sizeBytes);
  } finally {
    await source.close();
  }
}

function openSource(path: string, roots: readonly DiskRoot[]): Promise<DiskFile> {
  for (const root of roots) {
    const place = pathBelow(root.path, path);
    if (place !== undefined) return root.open(place, "read");
  }
  throw new TypeError("A file to be taken in lies outside the roots that the cache was given.");
}
