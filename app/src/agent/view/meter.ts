// Counts of a drive by folder, between two takings: what programs read and wrote, what crossed the wire for it, and
// where the rest came from. The totals are those of the drive and of its connections; what no folder is known for
// stays with the drive as a whole.

/**
 * Counts in the order in which they are shown. From `oldVersion` on: bytes that did not have to cross the wire.
 */
export const COUNTED = [
  "read",
  "written",
  "sent",
  "received",
  "oldVersion",
  "otherFile",
  "compression",
  "colleague",
  "stick",
  "oldFolder",
] as const;
export type Counted = (typeof COUNTED)[number];
export type Counts = Record<Counted, number>;

/** Counts of the parts that add up to the drive's totals. */
export type Totals = Pick<Counts, "read" | "written" | "sent" | "received">;

export interface FolderCounts {
  /** A folder at the top of the drive; "": the drive as a whole, with the files at its top. */
  folder: string;
  counts: Counts;
}

/** Folders told apart between two takings; more are counted with the drive as a whole. */
const FOLDERS_MAX = 256;

export class Meter {
  readonly #totals: () => Totals;
  #taken: Totals = { read: 0, written: 0, sent: 0, received: 0 };
  #folders = new Map<string, Counts>();

  constructor(totals: () => Totals) {
    this.#totals = totals;
  }

  /** Adds counts of a file; its share of the totals is no longer that of the drive as a whole. */
  add(path: string, counts: Partial<Counts>): void {
    const folder = topFolder(path);
    const isKnown = this.#folders.has(folder) || this.#folders.size < FOLDERS_MAX;
    const own = this.#countsOf(isKnown ? folder : "");
    for (const counted of COUNTED) own[counted] += counts[counted] ?? 0;
    if (!isKnown || folder === "") {
      // It is among the totals already.
      for (const counted of TOTALS) own[counted] -= counts[counted] ?? 0;
      return;
    }
    const whole = this.#countsOf("");
    for (const counted of TOTALS) whole[counted] -= counts[counted] ?? 0;
  }

  /**
   * Takes what was counted since the last call: the parts add up to what the totals have grown by. A part can be
   * negative where one taking counted early.
   */
  take(): FolderCounts[] {
    const totals = this.#totals();
    const whole = this.#countsOf("");
    for (const counted of TOTALS) whole[counted] += totals[counted] - this.#taken[counted];
    this.#taken = totals;
    const taken = [...this.#folders].map(([folder, counts]) => ({ folder, counts }));
    this.#folders = new Map();
    return taken.filter(({ counts }) => COUNTED.some((counted) => counts[counted] !== 0));
  }

  #countsOf(folder: string): Counts {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const counts = noCounts();
    this.#folders.set(folder, counts);
    return counts;
  }
}

const TOTALS = ["read", "written", "sent", "received"] as const;

export function countsBy(count: (counted: Counted) => number): Counts {
  return Object.fromEntries(COUNTED.map((counted) => [counted, count(counted)])) as Counts;
}

export function noCounts(): Counts {
  return countsBy(() => 0);
}

/** The folder at the top of the drive that a path leads through; "" for what lies at the top itself. */
export function topFolder(path: string): string {
  const end = path.indexOf("/");
  return end < 0 ? "" : path.slice(0, end);
}
