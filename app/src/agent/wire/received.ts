// Says which answers have come, for the server to forget: all up to a number, but for spans that lag far behind, like
// that of a large upload, or of all that waits while a folder is paused.
import { LIMITS, type NumberSpan, spansOf } from "@runnel/shared";

/** Fields of a change on the wire; `received` 0 says nothing. */
export interface Received {
  received: number;
  but?: NumberSpan[];
}

/** Lag up to which an answer is not named: the server keeps some thousands of results. */
const LAG_MAX = LIMITS.outstandingOperations / 4;

/** `highest`: the last number used. `outstanding`: those not answered, in any order. */
export function receivedOf(highest: number, outstanding: ReadonlySet<number>): Received {
  const first = Math.min(highest + 1, lowest(outstanding));
  if (highest - first < LAG_MAX) return { received: Math.max(0, first - 1) };
  const open = [...outstanding].sort((a, b) => a - b);
  const lagging = open.filter((n) => highest - n >= LAG_MAX);
  const spans = spansOf(lagging);
  const unnamed = spans[LIMITS.notReceived]?.[0] ?? open[lagging.length] ?? highest + 1;
  return { received: unnamed - 1, but: spans.slice(0, LIMITS.notReceived) };
}

/** @returns Infinity when there are none. */
function lowest(numbers: Iterable<number>): number {
  let found = Infinity;
  for (const n of numbers) found = Math.min(found, n);
  return found;
}
