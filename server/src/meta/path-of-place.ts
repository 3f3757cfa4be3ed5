// Path in the tree, for a person.
import { LIMITS, ROOT_NODE } from "@runnel/shared";
import type { MetaStore } from "./meta-store.ts";

/** Path of a name; "" without one. */
export async function pathOfPlace(
  meta: Pick<MetaStore, "namesOf">,
  place: { folder: number; name: string } | undefined,
): Promise<string> {
  const names: string[] = [];
  for (let at = place; at !== undefined && names.length <= LIMITS.depth;) {
    names.unshift(at.name);
    if (at.folder === ROOT_NODE) break;
    at = (await meta.namesOf(at.folder))[0];
  }
  return names.join("/");
}
