// Sets of a recipe's chunks, as spans that are ascending and do not touch. Pure; what comes from elsewhere goes through
// `spansFrom` first.

/** Chunks of a recipe that follow one another. */
export interface ChunkSpan {
  readonly from: number;
  readonly count: number;
}

/** Puts spans of any order in order: those that touch become one. */
export function spansFrom(spans: readonly ChunkSpan[]): ChunkSpan[] {
  const ordered = spans.filter(({ count }) => count > 0).toSorted((one, other) => one.from - other.from);
  const joined: { from: number; count: number }[] = [];
  for (const { from, count } of ordered) {
    const last = joined.at(-1);
    if (last === undefined || from > endOfSpan(last)) joined.push({ from, count });
    else last.count = Math.max(endOfSpan(last), from + count) - last.from;
  }
  return joined;
}

export function joinSpans(one: readonly ChunkSpan[], other: readonly ChunkSpan[]): ChunkSpan[] {
  return spansFrom([...one, ...other]);
}

/** Chunks of `one` that are not in `other`. */
export function withoutSpans(one: readonly ChunkSpan[], other: readonly ChunkSpan[]): ChunkSpan[] {
  const left: ChunkSpan[] = [];
  let next = 0;
  for (const span of one) {
    let { from } = span;
    const end = endOfSpan(span);
    while (next < other.length && endOfSpan(other[next] as ChunkSpan) <= from) next++;
    for (let at = next; at < other.length && from < end; at++) {
      const taken = other[at] as ChunkSpan;
      if (taken.from >= end) break;
      if (taken.from > from) left.push({ from, count: taken.from - from });
      from = Math.max(from, endOfSpan(taken));
    }
    if (from < end) left.push({ from, count: end - from });
  }
  return left;
}

/** Chunks that are in both. */
export function commonSpans(one: readonly ChunkSpan[], other: readonly ChunkSpan[]): ChunkSpan[] {
  return withoutSpans(one, withoutSpans(one, other));
}

/** The first chunks of a set, up to so many. */
export function firstOf(spans: readonly ChunkSpan[], countMax: number): ChunkSpan[] {
  const first: ChunkSpan[] = [];
  let left = countMax;
  for (const { from, count } of spans) {
    if (left <= 0) break;
    first.push({ from, count: Math.min(count, left) });
    left -= count;
  }
  return first;
}

/** The longest spans of a set, in order: what a message has room for. */
export function longestOf(spans: readonly ChunkSpan[], spansMax: number): ChunkSpan[] {
  if (spans.length <= spansMax) return [...spans];
  const longest = spans.toSorted((one, other) => other.count - one.count).slice(0, spansMax);
  return longest.toSorted((one, other) => one.from - other.from);
}

export function countOf(spans: readonly ChunkSpan[]): number {
  return spans.reduce((sum, { count }) => sum + count, 0);
}

export function endOfSpan({ from, count }: ChunkSpan): number {
  return from + count;
}

/** Indexes that ascend, as spans. */
export function joinIndexes(indexes: Iterable<number>): ChunkSpan[] {
  const spans: { from: number; count: number }[] = [];
  for (const index of indexes) {
    const last = spans.at(-1);
    if (last !== undefined && last.from + last.count === index) last.count++;
    else spans.push({ from: index, count: 1 });
  }
  return spans;
}

/** The indexes of all chunks of the spans. */
export function* indexesOf(spans: readonly ChunkSpan[]): Generator<number> {
  for (const { from, count } of spans) for (let index = from; index < from + count; index++) yield index;
}
