// Facts of changes of names and attributes as the journal has them.
import type { XattrChange } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import type { JournalCommit, JournalOperation } from "../journal/journal.ts";
import { placesIn } from "../journal/operation-nodes.ts";

/** Says whether a change gives a name to a file that was there before. */
export function givesName({ operation }: JournalOperation): boolean {
  return operation.op === "rename" || operation.op === "link";
}

/** Says whether a file had no other content than that when a change gave it a name. */
export function isOnlyContentOf(change: JournalOperation, { node, instance, n, baseVersion }: JournalCommit): boolean {
  const isBefore = node === change.operation.node && instance === change.instance && n < change.n;
  return givesName(change) && isBefore && baseVersion === 0;
}

/** Lists the folders that must be known for a change to be planned. */
export function foldersOf(operation: TreeOperation): number[] {
  return operation.op === "remove" ? [operation.folder, operation.node] : placesIn(operation);
}

export function xattrOf({ operation }: JournalOperation): XattrChange | undefined {
  return operation.op === "setAttr" ? operation.change.xattr : undefined;
}
