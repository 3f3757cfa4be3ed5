// Path in the tree at which a commit took place, for a person.
import type { MetaStore } from "../../../meta/meta-store.ts";
import { pathOfPlace } from "../../../meta/path-of-place.ts";
import type { AcceptedCommit } from "../../content-store.ts";

/** "" for the root, and for what has no name any more. */
export async function pathOfCommit(meta: MetaStore, { change, result }: AcceptedCommit): Promise<string> {
  return pathOfPlace(meta, change.bindings.at(-1) ?? (await meta.namesOf(result.node))[0]);
}
