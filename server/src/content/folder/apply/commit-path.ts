// Path in the tree at which a commit took place, for a person.
import { fromSystemError } from "@runnel/shared";
import type { MetaStore } from "../../../meta/meta-store.ts";
import { pathOfPlace } from "../../../meta/path-of-place.ts";
import type { AcceptedCommit, Stuck } from "../../content-store.ts";

/** "" for the root, and for what has no name any more. */
export async function pathOfCommit(meta: MetaStore, { change, result }: AcceptedCommit): Promise<string> {
  return pathOfPlace(meta, change.bindings.at(-1) ?? (await meta.namesOf(result.node))[0]);
}

/** Says why a commit waits, at its path as far as that is known. */
export async function describeStuck(
  meta: MetaStore,
  commit: AcceptedCommit | undefined,
  error: unknown,
): Promise<Stuck> {
  const { kind, message: sentence } = fromSystemError(error, "apply");
  const path = commit && (await pathOfCommit(meta, commit).catch(() => ""));
  return { path: path ?? "", kind, sentence };
}
