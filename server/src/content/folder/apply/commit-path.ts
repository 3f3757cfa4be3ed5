// Path in the tree at which a commit took place, for a person.
import { LIMITS, ROOT_NODE } from "@runnel/shared";
import type { MetaStore } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";

/** "" for the root, and for what has no name any more. */
export async function pathOfCommit(meta: MetaStore, { change, result }: AcceptedCommit): Promise<string> {
  const names: string[] = [];
  let place = change.bindings.at(-1) ?? (await meta.namesOf(result.node))[0];
  while (place !== undefined && names.length <= LIMITS.depth) {
    names.unshift(place.name);
    if (place.folder === ROOT_NODE) break;
    place = (await meta.namesOf(place.folder))[0];
  }
  return names.join("/");
}
