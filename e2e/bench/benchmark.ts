// A benchmark is rows of figures, each beside a reference that was measured in the same run. Rounds are interleaved, so
// that whatever slows the machine for a while slows both; the median of the rounds counts, since a ratio of two medians
// is firmer than either.

export interface Row {
  /** The thing that was measured: "write 64 MiB". */
  what: string;
  value: number;
  unit: string;
  /** The thing that it is compared with: "local disk". */
  reference: string;
  referenceValue: number;
  /** value / referenceValue. */
  ratio: number;
}

/** Results of a benchmark: for a program, and for a person. */
export interface Result {
  rows: readonly object[];
  /** Figures by name, beside the rows. */
  figures?: Record<string, unknown>;
  table: string;
}

export interface BenchContext {
  /** Parts of a benchmark that has some; all when empty. */
  only: readonly string[];
  /** Amount of work. */
  size: "full" | "small" | "tiny";
  /** Number of times that everything is measured. */
  rounds: number;
  /** Tells a person what is going on; never part of the result. */
  say(text: string): void;
}

export interface Benchmark {
  name: string;
  /** Line for the list. */
  about: string;
  run(context: BenchContext): Promise<Result>;
}

/** A figure in two places. Each measures once and returns a value in the pair's unit. */
export interface Pair {
  what: string;
  unit: string;
  reference: string;
  measure(): Promise<number>;
  measureReference(): Promise<number>;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Measures all pairs in turn, round by round, the reference first in every other round. */
export async function measurePairs(
  pairs: readonly Pair[],
  context: Pick<BenchContext, "rounds" | "say">,
): Promise<Row[]> {
  const values = pairs.map(() => [] as number[]);
  const references = pairs.map(() => [] as number[]);
  for (let round = 0; round < context.rounds; round++) {
    for (const [i, pair] of pairs.entries()) {
      context.say(`round ${round + 1} of ${context.rounds}: ${pair.what}`);
      const mine = async (): Promise<unknown> => values[i]?.push(await pair.measure());
      const theirs = async (): Promise<unknown> => references[i]?.push(await pair.measureReference());
      for (const measure of round % 2 === 0 ? [mine, theirs] : [theirs, mine]) await measure();
    }
  }
  return pairs.map(({ what, unit, reference }, i) => {
    const value = median(values[i] ?? []);
    const referenceValue = median(references[i] ?? []);
    return { what, value, unit, reference, referenceValue, ratio: value / referenceValue };
  });
}

/** Three digits that matter. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 4)).replaceAll(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, ",");
}

/** An aligned table, at most 80 columns for short names. */
export function formatTable(name: string, rows: readonly Row[]): string {
  const cells = [
    [name, "value", "unit", "reference", "value", "ratio"],
    ...rows.map((row) => [
      row.what,
      shown(row.value),
      row.unit,
      row.reference,
      shown(row.referenceValue),
      shown(row.ratio),
    ]),
  ];
  const isNumber = [false, true, false, false, true, true];
  const widths = isNumber.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  const lines = cells.map((line) =>
    line
      .map((cell, column) => (isNumber[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return lines.join("\n");
}
