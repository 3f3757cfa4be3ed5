// The history of a run: all that programs did and saw, each call with the interval in which it was under way.

/** "" for a name that was not there, else the content's key. */
export type Observation = string | undefined;

export interface Call {
  client: string;
  /** look: stat(2). create: a new file and no other (O_EXCL). flush, removeTree: `runnel flush`, `runnel remove`. */
  kind: "read" | "list" | "look" | "write" | "create" | "remove" | "rename" | "link" | "make" | "flush" | "removeTree";
  path: string;
  /** rename, link */
  toPath?: string;
  /** Steps of the run: every begin and every end is one. Of real processes: when. */
  began: number;
  /** Infinity: it never ended, or nobody heard how. */
  ended: number;
  /** On the run's clock. */
  beganMs: number;
  endedMs: number;
  /** Undefined when no word came back. */
  outcome: "ok" | "failed" | undefined;
  /**
   * read: the content, "folder" or undefined for nothing there; look: the same with the size for the content; write:
   * what was written.
   */
  content?: Observation;
  /** list; flush: the paths of what it said could not be sent */
  names?: string[] | undefined;
  /** The last commit at the server when it began, and when it ended. */
  firstSeq: number;
  /** Seq that the client had heard of when it began, where that is known. */
  heardSeq?: number;
  lastSeq: number;
  /** Answered as was last known, without the server. */
  wasOffline: boolean;
  errno?: number;
  /** write: the step after which the drive had all of its bytes, and only the close was to come. */
  wrote?: number;
  /** write: how long the program kept the file open without a call. */
  heldMs?: number;
  /** write: the content that was edited. */
  from?: string;
}

/** Returns false for a call that looks at what is there, and leaves it so. */
export function isChange(kind: Call["kind"]): boolean {
  return kind !== "read" && kind !== "list" && kind !== "look" && kind !== "flush";
}

/** The path of the folder as lists have it: it ends in a slash, or is "". */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** The change may have had a part in what is seen. */
export function touches(change: Call, seen: Call): boolean {
  return [change.path, change.toPath].some((path) => {
    if (path === undefined) return false;
    if (seen.kind === "list") return folderOf(path) === seen.path || seen.path.startsWith(`${path}/`);
    return path === seen.path || seen.path.startsWith(`${path}/`);
  });
}

/** Returns a call as reports name it. */
export function wordsOf(call: Call): string {
  const to = call.toPath === undefined ? "" : ` to ${call.toPath}`;
  const content = call.content === undefined ? "" : ` (${call.content.slice(0, 24)})`;
  return `${call.client} ${call.kind} ${call.path}${to}${content} [${call.began}..${call.ended}]`;
}

export class History {
  readonly calls: Call[] = [];
  step = 0;
  /** Listeners that hear of each call as it begins and ends. */
  readonly listeners = new Set<(call: Call, what: "begin" | "end") => void>();
  private readonly nowMs: () => number;
  private readonly seq: () => number;

  constructor(nowMs: () => number, seq: () => number) {
    this.nowMs = nowMs;
    this.seq = seq;
  }

  begin(call: Pick<Call, "client" | "kind" | "path" | "toPath" | "content">): Call {
    const begun: Call = {
      ...call,
      began: this.step++,
      ended: Infinity,
      beganMs: this.nowMs(),
      endedMs: Infinity,
      outcome: undefined,
      firstSeq: this.seq(),
      lastSeq: Infinity,
      wasOffline: false,
    };
    this.calls.push(begun);
    for (const listener of this.listeners) listener(begun, "begin");
    return begun;
  }

  end(call: Call, outcome: "ok" | "failed"): void {
    call.ended = this.step++;
    call.endedMs = this.nowMs();
    call.lastSeq = this.seq();
    call.outcome = outcome;
    for (const listener of this.listeners) listener(call, "end");
  }
}
