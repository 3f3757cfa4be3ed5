// Recipes of files that lie where objects do: an object's name is the OID of its recipe, and so tells how it is cut
// where nobody knows that any more (the index was lost, another program brought the file). Whether a file is what its
// name says is for whoever gets it to find out.
import {
  type ChunkPreset,
  type Executor,
  OBJECTS_FOLDER,
  ROOT_NODE,
  type Recipe,
  encodeRecipe,
  isObjectName,
  presetFor,
} from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

/** @returns the OID that a node has as a name in the folder of objects; undefined when it has none. */
export async function objectOidOf(
  meta: Pick<MetaStore, "lookup" | "namesOf">,
  node: number,
): Promise<string | undefined> {
  const names = (await meta.namesOf(node)).filter(({ name }) => isObjectName(name));
  if (names.length === 0) return undefined;
  const folder = await meta.lookup(ROOT_NODE, OBJECTS_FOLDER);
  return names.find((each) => each.folder === folder?.node)?.name;
}

/**
 * Cuts with the preset that is given, but a file that is named by an OID, which that does not give, into fixed chunks,
 * if those give it [W211].
 */
export async function cutAsNamed<T extends Recipe>(
  executor: Pick<Executor, "digest">,
  { oid, sizeBytes, preset }: { oid: string | undefined; sizeBytes: number; preset: ChunkPreset },
  cut: (preset: ChunkPreset) => Promise<T>,
): Promise<T> {
  const recipe = await cut(preset);
  if (oid === undefined || sizeBytes === 0) return recipe;
  const isNamed = async (each: Recipe): Promise<boolean> =>
    Buffer.from(await executor.digest([encodeRecipe(each)])).toString("hex") === oid;
  if (await isNamed(recipe)) return recipe;
  const fixed = await cut(presetFor(sizeBytes, "fixed"));
  return (await isNamed(fixed)) ? fixed : recipe;
}
