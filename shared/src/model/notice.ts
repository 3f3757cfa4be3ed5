// Notices: what happened to a volume that a person should know of, besides what the tree shows.

/** Append-only, since notices are kept and sent. `atMs` is the server's wall clock. */
export type Notice =
  /** A program on the server and a drive changed a file at once; what the program wrote lies at `conflictCopy`. */
  | { kind: "conflict"; path: string; conflictCopy: string; atMs: number }
  /**
   * The save `seq` of a client was over another version than its program had seen: what that had is an older version
   * now. Of a file that had gone the save lies at `conflictCopy`, and `path` is where it was. `by`: who saved, for a
   * person.
   */
  | { kind: "clientConflict"; path: string; seq: number; conflictCopy?: string | undefined; by: string; atMs: number }
  /**
   * An acknowledged save copied bytes that a program on the server destroyed, and nobody has them: what there is of it
   * lies at `conflictCopy`, with zeros in the ranges that are missing, of which the first are named.
   */
  | {
      kind: "incomplete";
      path: string;
      conflictCopy: string;
      missing: { offset: number; length: number }[];
      missingBytes: number;
      atMs: number;
    }
  /**
   * Programs that wrote to a file destroyed so many old versions of it, `seq` the last; `path` is "" when it has no
   * name.
   */
  | { kind: "lost"; path: string; node: number; seq: number; versions: number; atMs: number }
  /**
   * A save that was acknowledged, and not yet in its plain file, had bytes in common with what a program there wrote
   * over; nobody has them now.
   */
  | { kind: "destroyed"; path: string; seq: number; atMs: number }
  /** The index was lost, and this acknowledged change could not be brought back. */
  | { kind: "missing"; path: string; seq: number; atMs: number }
  /** The index was lost, and so many acknowledged changes were brought back into the folder. */
  | { kind: "salvaged"; changes: number; atMs: number };

export type NoticeOf<Kind extends Notice["kind"]> = Extract<Notice, { kind: Kind }>;

/** Returns the key of a notice: among those with one kind and key only the newest is kept. */
export function noticeKey(notice: Notice): string {
  switch (notice.kind) {
    case "conflict":
    case "incomplete":
      return notice.conflictCopy;
    case "lost":
      return String(notice.node);
    // Numbers begin again where the index is made anew.
    case "clientConflict":
    case "destroyed":
    case "missing":
      return `${notice.seq} ${notice.path}`;
    case "salvaged":
      return String(notice.atMs);
  }
}
