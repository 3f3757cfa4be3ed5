// Items that carry many entries or changes: cut so that each fits into one control message, however long names and
// targets are.
import type { Change, Entry, NodeState } from "@runnel/shared";
import { LIMITS } from "@runnel/shared";

/** A state without its target, with every number at its longest; and what surrounds it. */
const STATE_BYTES = 112;
const BINDING_BYTES = 32;
const CHANGE_BYTES = 64;

/** Leaves room for what else the item says. */
const ITEM_BYTES_MAX = LIMITS.controlBytes - 128 * 1024;

/** The message's form allows 4096. */
const COUNT_MAX = 1000;

/** Bytes that surround the entries of a page of a listing. */
export const PAGE_BYTES = 32;

export function entryBytes({ name, state }: Entry): number {
  return Buffer.byteLength(name) + stateBytes(state);
}

export function changeBytes({ bindings, nodes }: Change): number {
  let bytes = CHANGE_BYTES;
  for (const { name } of bindings) bytes += BINDING_BYTES + Buffer.byteLength(name);
  for (const state of nodes) bytes += stateBytes(state);
  return bytes;
}

function stateBytes({ target }: NodeState): number {
  return STATE_BYTES + Buffer.byteLength(target);
}

/** Splits the items in order; `bytesOf` says at most how long one becomes. No items give no parts. */
export function splitBySize<T>(all: readonly T[], bytesOf: (one: T) => number): T[][] {
  const parts: T[][] = [];
  let bytes = ITEM_BYTES_MAX;
  for (const one of all) {
    const size = bytesOf(one);
    if (bytes + size > ITEM_BYTES_MAX || (parts.at(-1)?.length ?? 0) >= COUNT_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(one);
    bytes += size;
  }
  return parts;
}
