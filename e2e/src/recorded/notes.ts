// Notes that the server and the agents of a recorded run write of themselves (witness.ts): a line of JSON each, in a
// file for each machine. And what follows from the notes: who committed what when, which commits waited, which answers
// were given offline.
import { existsSync, readFileSync } from "node:fs";
import { type Decided, Truth } from "../consistency/check/truth.ts";

/** CLOCK_MONOTONIC, the same in all processes of a machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

type What =
  /**
   * A batch has been decided. It is committed by the next note, or else it is not, but for what a later `opened` has.
   */
  | { planned: Decided[] }
  | { committed: true }
  /** The volume was opened, with this as its last commit. */
  | { opened: number }
  /** The answer to this commit waits for acknowledgements. */
  | { waits: number }
  /** The name under which an agent attaches. */
  | { instance: string }
  /** Somebody was answered as was last known. */
  | { offline: true };

export type Note = What & { atMs: number };

/** Reads the notes of a process; if it was killed, it may have been writing its last line. */
export function readNotes(path: string): Note[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Note);
}

/** Collects what a server committed in all its processes. */
export function truthOf(notes: readonly Note[], clientOf: (instance: string) => string): Truth {
  const truth = new Truth(clientOf);
  let open: { planned: Decided[]; atMs: number } = { planned: [], atMs: 0 };
  const take = (upTo: number, atMs: number): void => {
    for (const decided of open.planned)
      if (decided.seq <= upTo) truth.take({ ...decided, client: clientOf(decided.instance), atMs, step: atMs });
    open = { planned: [], atMs: 0 };
  };
  for (const note of notes) {
    if ("planned" in note) open = note;
    else if ("committed" in note) take(Infinity, note.atMs);
    // Killed between the commit and its note.
    else if ("opened" in note) take(note.opened, open.atMs);
  }
  return truth;
}
