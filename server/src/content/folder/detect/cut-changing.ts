// The recipe of a file that a program goes on writing to. It was the file's content at one moment when the tuple stayed
// the same, or when two passes over it saw the same bytes: then it had them between the two. What is appended meanwhile
// lies behind.
import type { DiskRoot, Executor, Recipe } from "@runnel/shared";
import { chunkRanges, oidOfObject, presetFor } from "@runnel/shared";
import { cutAsNamed } from "../../object-recipe.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameTuple } from "../disk/same-file.ts";
import { readFound } from "./read-found.ts";

/** Other work waits while a recipe is made. */
const CUT_BYTES_MAX = 16 * 1024 * 1024;

/** Undefined when it has not stood still for that long, or is too large. */
export async function cutChanging(
  root: DiskRoot,
  path: string,
  found: FoundEntry,
  executor: Executor,
): Promise<Recipe | undefined> {
  const { stat } = found;
  const { sizeBytes } = stat;
  if (sizeBytes === 0 || sizeBytes > CUT_BYTES_MAX) return undefined;
  return readFound(root, path, found, async (file) => {
    const how = { oid: oidOfObject(path), sizeBytes, preset: presetFor(sizeBytes) };
    const recipe = await cutAsNamed(executor, how, (preset) => executor.chunkFile(file, 0, sizeBytes, preset));
    if (isSameTuple(await file.stat(), stat)) return recipe;
    const again = await executor.digestFile(file, chunkRanges(recipe));
    return Buffer.compare(again, recipe.digests) === 0 ? recipe : undefined;
  });
}
