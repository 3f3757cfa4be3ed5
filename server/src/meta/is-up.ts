// Which changes are in the plain folder, as the index says it.
import type { MetaStore } from "./meta-store.ts";

/** Says it of each seq. */
export async function whatIsUp(meta: MetaStore): Promise<(seq: number) => boolean> {
  const { upSeq } = await meta.facts();
  const passed = await meta.passed();
  const waiting = new Set(passed.waiting);
  return (seq) => seq <= upSeq || (seq <= passed.seq && !waiting.has(seq));
}
