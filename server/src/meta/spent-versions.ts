// Versions that have no bytes to be read, empty ones and lost ones: a file that is written again and again would have
// more and more rows of them.
import type { MetaTables } from "./meta-tables.ts";

/** Rows of such versions that are kept of a node, the newest. */
export const WITHOUT_BYTES_KEPT = 16;

/** Tells whether no bytes of a node are kept, and none of its names is on disk. */
export function hasNothingLeft(tables: MetaTables, node: number): boolean {
  const isSpent = tables.versionsOf(node).every(({ place }) => place.at === "lost" || place.at === "empty");
  return isSpent && tables.diskRowsOfNode(node).length === 0;
}

/** Forgets older ones than the newest; never the current one. */
export function forgetSpent(tables: MetaTables, node: number): void {
  const spent = tables.withoutBytes(node);
  if (spent.length <= WITHOUT_BYTES_KEPT) return;
  const current = tables.node(node)?.version;
  for (const version of spent.slice(0, -WITHOUT_BYTES_KEPT)) if (version.seq !== current) tables.removeVersion(version);
}
