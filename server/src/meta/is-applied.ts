// Tells which changes are in the plain folder, by the index.
import type { MetaStore } from "./meta-store.ts";

/** Tells of each seq whether it is applied. */
export async function appliedCommits(meta: MetaStore): Promise<(seq: number) => boolean> {
  const { appliedSeq } = await meta.facts();
  const passed = await meta.passed();
  const waiting = new Set(passed.waiting);
  return (seq) => seq <= appliedSeq || (seq <= passed.seq && !waiting.has(seq));
}
