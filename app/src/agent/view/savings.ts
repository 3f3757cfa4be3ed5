// Works out what was saved: bytes that programs worked with against bytes that crossed the wire, and where the rest
// came from. Pure.
import { COUNTED, type Counts, noCounts } from "./meter.ts";

/** Origins of bytes that did not have to cross the wire, in the order in which they are shown. */
export const ORIGINS = ["oldVersion", "otherFile", "compression", "colleague", "stick", "oldFolder"] as const;
export type Origin = (typeof ORIGINS)[number];

/** Sums as a person is shown them; bytes. */
export interface Savings {
  readBytes: number;
  writtenBytes: number;
  /** Everything that crossed the wire: hashes, headers and retries are among it. */
  sentBytes: number;
  receivedBytes: number;
  /** Origins of what did not cross the wire; they add up to what was saved. `cache`: read or written here again. */
  saved: Record<Origin | "cache", number>;
  /** 100 × (1 − wire bytes / worked bytes); 0 while programs moved nothing; may be negative. */
  savedPercent: number;
}

export function savingsOf(counts: Counts): Savings {
  const positive = (bytes: number): number => Math.max(0, bytes);
  const [read, written, sent, received] = [counts.read, counts.written, counts.sent, counts.received].map(positive);
  const worked = (read ?? 0) + (written ?? 0);
  const wire = (sent ?? 0) + (received ?? 0);
  // A count of an origin may be of bytes that no program came to read: no more is told than was saved.
  let rest = Math.max(0, worked - wire);
  const share = (bytes: number): number => {
    const taken = Math.min(rest, positive(bytes));
    rest -= taken;
    return taken;
  };
  const saved = Object.fromEntries(ORIGINS.map((origin) => [origin, share(counts[origin])])) as Record<Origin, number>;
  return {
    readBytes: read ?? 0,
    writtenBytes: written ?? 0,
    sentBytes: sent ?? 0,
    receivedBytes: received ?? 0,
    saved: { ...saved, cache: rest },
    savedPercent: worked === 0 ? 0 : 100 * (1 - wire / worked),
  };
}

export function sumOf(all: Iterable<Counts>): Counts {
  const sum = noCounts();
  for (const counts of all) for (const counted of COUNTED) sum[counted] += counts[counted];
  return sum;
}

export function workedBytes({ readBytes, writtenBytes }: Savings): number {
  return readBytes + writtenBytes;
}

export function wireBytes({ sentBytes, receivedBytes }: Savings): number {
  return sentBytes + receivedBytes;
}

const TITLES =
  "hour,server,drive,folder,read,written,sent,received,old version,other file,compression,colleague,stick,old folder";

export interface LedgerRow {
  hour: number;
  url: string;
  mountpoint: string;
  folder: string;
  counts: Counts;
}

/** Rows of a spreadsheet (RFC 4180), the hours in UTC; with titles for the first of them. */
export function csvOf(rows: readonly LedgerRow[], isFirst: boolean): string {
  const lines = rows.map(({ hour, url, mountpoint, folder, counts }) =>
    [
      new Date(hour * HOUR_MS).toISOString().slice(0, 16).replace("T", " "),
      ...[url, mountpoint, folder].map(cellOf),
      ...COUNTED.map((counted) => counts[counted]),
    ].join(","),
  );
  return [...(isFirst ? [TITLES] : []), ...lines].map((line) => `${line}\r\n`).join("");
}

export const HOUR_MS = 60 * 60_000;

/** A name that a spreadsheet would take for a formula is led by an apostrophe. */
function cellOf(text: string): string {
  const shown = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
