// Node ids kept for work without a line: many, in the journal, so that they outlive this process. They are taken in
// blocks, each recorded as given before the first of it is.
import { LIMITS } from "@runnel/shared";
import type { Journal } from "../journal/journal.ts";

export interface NodeReserveDeps {
  journal: Pick<Journal, "reservedNodes" | "reserveNodes">;
  /** Asks the server for so many. @throws Unreachable */
  ask(count: number): Promise<readonly [first: number, count: number]>;
}

/** With fewer left, others are asked for. */
export const RESERVED_MIN = 1_000_000;
const BLOCK_NODES = 4_096;

export class NodeReserve {
  readonly #deps: NodeReserveDeps;

  constructor(deps: NodeReserveDeps) {
    this.#deps = deps;
  }

  /** Fills it when it is low, or of another epoch. @throws Unreachable, NoSpace, Io: it is as it was. */
  async fill(epoch: string): Promise<void> {
    const { journal, ask } = this.#deps;
    const left = journal.reservedNodes;
    if (left?.epoch === epoch && left.end - left.from >= RESERVED_MIN) return;
    const [from, count] = await ask(LIMITS.nodesAtOnce);
    await journal.reserveNodes({ epoch, from, end: from + count });
  }

  /** Takes some; undefined when none of this epoch are left. @throws NoSpace, Io */
  async take(epoch: string): Promise<readonly [first: number, count: number] | undefined> {
    const { journal } = this.#deps;
    const left = journal.reservedNodes;
    if (left?.epoch !== epoch) return undefined;
    const { from, end } = left;
    const count = Math.min(BLOCK_NODES, end - from);
    if (count <= 0) return undefined;
    await journal.reserveNodes({ epoch, from: from + count, end });
    return [from, count];
  }
}
