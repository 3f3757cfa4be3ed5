// Spans of whole numbers.

/** From `first` to `last`, both included. */
export type NumberSpan = readonly [first: number, last: number];

export function isInSpan(n: number, spans: readonly NumberSpan[]): boolean {
  return spans.some(([first, last]) => n >= first && n <= last);
}

/** Puts ascending numbers together. */
export function spansOf(ascending: Iterable<number>): NumberSpan[] {
  const spans: [number, number][] = [];
  for (const n of ascending) {
    const last = spans.at(-1);
    if (last?.[1] === n - 1) last[1] = n;
    else spans.push([n, n]);
  }
  return spans;
}
