// PendingContents: contents that are in the log and not yet in the folder. Each is a list of runs: log data, the
// commit's staged file, ranges of older versions, which may be pending themselves.
import { RunnelError } from "@runnel/shared";
import type { Recipe, VersionId } from "@runnel/shared";
import type { Run } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import { versionKey } from "../disk/store-layout.ts";

export type LogPlace = NonNullable<AcceptedCommit["data"]>;

export interface PendingContent {
  seq: number;
  version: VersionId;
  /** Instance that committed it. */
  instance: string;
  sizeBytes: number;
  recipe: Recipe | undefined;
  runs: readonly Run[];
  /** Offset at which each run begins. */
  starts: Float64Array;
  temp: string;
  data: LogPlace | undefined;
  /** True while its temp file is being put in place: the name in temp/ may already be another file's. */
  isBeingApplied: boolean;
}

/**
 * Bytes in one place: of the data or the staged file of `content`, which is pending, in the file at the offset in that;
 * or of a version that is in its place, or is being put there.
 */
export type Piece =
  | { from: "log"; content: PendingContent; data: LogPlace; at: number; length: number }
  | { from: "temp"; content: PendingContent; at: number; length: number }
  | { from: "version"; version: VersionId; at: number; length: number };

export function contentOf(commit: AcceptedCommit): PendingContent | undefined {
  const { operation, result, seq, instance, data } = commit;
  if (operation.op !== "write") return undefined;
  const { sizeBytes, runs, temp, recipe } = operation.content;
  return {
    seq,
    version: { node: result.node, seq: result.version },
    instance,
    sizeBytes,
    recipe,
    runs,
    starts: startsOf(runs),
    temp,
    data,
    isBeingApplied: false,
  };
}

/** The first run of each version that it copies from. */
export function sourcesOf({ runs }: PendingContent): (Run & { from: "version" })[] {
  const first = new Map<string, Run & { from: "version" }>();
  for (const run of runs) {
    if (run.from === "version" && !first.has(versionKey(run.version))) first.set(versionKey(run.version), run);
  }
  return [...first.values()];
}

function startsOf(runs: readonly Run[]): Float64Array {
  const starts = new Float64Array(runs.length);
  let at = 0;
  for (const [index, { length }] of runs.entries()) {
    starts[index] = at;
    at += length;
  }
  return starts;
}

/** The last run that begins there or before. */
function runAt({ starts }: PendingContent, offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A range of a pending content, still to be led back to pieces. */
interface Range {
  content: PendingContent;
  start: number;
  end: number;
}

export class PendingContents {
  readonly #contents = new Map<string, PendingContent>();
  /** Counts of the contents that copy from a version. */
  readonly #copies = new Map<string, number>();

  add(content: PendingContent): void {
    this.#contents.set(versionKey(content.version), content);
    for (const { version } of sourcesOf(content)) {
      const key = versionKey(version);
      this.#copies.set(key, (this.#copies.get(key) ?? 0) + 1);
    }
  }

  /** @returns the versions that it copied from. */
  delete(version: VersionId): VersionId[] {
    const content = this.get(version);
    if (content === undefined) return [];
    this.#contents.delete(versionKey(version));
    const sources = sourcesOf(content).map((run) => run.version);
    for (const source of sources) {
      const key = versionKey(source);
      const count = (this.#copies.get(key) ?? 1) - 1;
      if (count > 0) this.#copies.set(key, count);
      else this.#copies.delete(key);
    }
    return sources;
  }

  isCopied(version: VersionId): boolean {
    return this.#copies.has(versionKey(version));
  }

  get(version: VersionId): PendingContent | undefined {
    return this.#contents.get(versionKey(version));
  }

  /** A pending content, other than those of the commits in `except`, copies from the version. */
  isNeeded(version: VersionId, except: ReadonlySet<number>): boolean {
    const key = versionKey(version);
    return this.#contents.values().some(({ seq, runs }) => {
      return !except.has(seq) && runs.some((run) => run.from === "version" && versionKey(run.version) === key);
    });
  }

  /** Finds where a range's bytes are, in order. Runs lead to earlier commits only, so this ends. */
  pieces(content: PendingContent, offset: number, length: number): Piece[] {
    const pieces: Piece[] = [];
    const stack: (Range | Piece)[] = [{ content, start: offset, end: offset + length }];
    for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
      if ("from" in part) pieces.push(part);
      else stack.push(...this.#expand(part).toReversed());
    }
    return pieces;
  }

  #expand({ content, start, end }: Range): (Range | Piece)[] {
    const parts: (Range | Piece)[] = [];
    let length = 0;
    for (let index = runAt(content, start); index < content.runs.length; index++) {
      const [run, at = end] = [content.runs[index], content.starts[index]];
      if (run === undefined || at >= end) break;
      const from = Math.max(start, at);
      const to = Math.min(end, at + run.length);
      if (from >= to) continue;
      parts.push(this.#part(content, run, from - at, from, to - from));
      length += to - from;
    }
    if (length !== end - start)
      throw new RunnelError("Corrupt", "read version", "A pending version has a range without bytes.");
    return parts;
  }

  /** `skip`: bytes of the run that come before; `at`: where the part stands in the content. */
  #part(content: PendingContent, run: Run, skip: number, at: number, length: number): Range | Piece {
    // The name in temp/ may be another file's by now: it is read as any version, from a hold or once it is in place.
    if (run.from === "temp" && content.isBeingApplied) return { from: "version", version: content.version, at, length };
    if (run.from === "temp") return { from: "temp", content, at, length };
    if (run.from === "log") {
      if (content.data === undefined)
        throw new RunnelError("Corrupt", "read version", "A commit has no data for its runs.");
      return { from: "log", content, data: content.data, at: run.at + skip, length };
    }
    const older = this.get(run.version);
    const offset = run.offset + skip;
    if (older === undefined) return { from: "version", version: run.version, at: offset, length };
    if (older.seq >= content.seq) throw new RunnelError("Corrupt", "read version", "A commit copies from a later one.");
    return { content: older, start: offset, end: offset + length };
  }
}
