// Checks that everything that was saved, or was to be, is still somewhere when all is at rest: as what a file holds, in
// a conflict copy, as an old version, or on the client that could not send it; unless somebody who had it put something
// else in its place.
import { type Call, isChange } from "./history.ts";
import type { OutsideWrite } from "../outside.ts";
import { type Committed, EMPTY, type Truth } from "./truth.ts";

/** All that lies somewhere when all is at rest. */
export interface Resting {
  /** Keys of all that lies in the served folder, old versions with it. */
  contents: ReadonlySet<string>;
  /**
   * Status says that versions of this file were destroyed, and nobody was left then who had what the save was made
   * from.
   */
  isNamedLost(commit: Committed, node: number): boolean;
  /**
   * The client's own disk was full at some moment of the call, or the server refused to make the file: what it says
   * then it does not keep. Or its machine stopped before what it was to keep was on disk.
   */
  isRefused(call: Call): boolean;
  /** The client still has it, and says that it cannot send it: what was edited is nowhere any more. */
  isHopeless(call: Call): boolean;
  /** Status of each client about what could not be sent. */
  unsent: ReadonlyMap<string, string>;
}

export interface DurabilityDeps {
  calls: readonly Call[];
  truth: Truth;
  outside: readonly OutsideWrite[];
  resting: Resting;
  followsUnsent: boolean;
  /** Another program of that client had a part in it. */
  isMixed(call: Call): boolean;
}

/** EIO, ENOSPC: what was not saved then is kept, and sent later. */
const UNSAVED_ERRNOS: ReadonlySet<number> = new Set([5, 28]);

/** A sentence for each that is gone. */
export function lostContents(parts: DurabilityDeps): string[] {
  return new Durability(parts).all();
}

class Durability {
  private readonly parts: DurabilityDeps;
  /** Contents that programs on the server wrote over, or put another file in the place of. */
  private readonly written: ReadonlySet<string | undefined>;
  /** node/version, of those that a committed edit started from. */
  private readonly edited: ReadonlySet<string>;

  constructor(parts: DurabilityDeps) {
    this.parts = parts;
    this.written = new Set(parts.outside.map(({ before }) => before));
    this.edited = new Set(
      parts.truth.commits.flatMap(({ content }) =>
        content === undefined ? [] : [`${content.over.node}/${content.over.version}`],
      ),
    );
  }

  all(): string[] {
    const { truth, outside, calls } = this.parts;
    return [
      ...truth.commits.filter((commit) => !this.isThere(commit)).map(shownCommit),
      ...outside.filter(({ after }) => !this.exists(after)).map(shownWrite),
      ...(this.parts.followsUnsent ? calls.filter((call) => !this.isSafe(call)).map(shownCall) : []),
    ];
  }

  private exists(key: string): boolean {
    return key === EMPTY || this.parts.resting.contents.has(key) || this.written.has(key);
  }

  private isThere(commit: Committed): boolean {
    const { content } = commit;
    if (content === undefined || this.exists(content.key)) return true;
    const { truth, resting } = this.parts;
    const { node, version } = content;
    if (this.edited.has(`${node}/${version}`) || resting.isNamedLost(commit, node)) return true;
    // A client removed it, or put another file in its place.
    return truth.namesOf(node) === 0 && truth.lastTakenBy(node) !== "";
  }

  /**
   * Returns true when the bytes of a failed write are still somewhere: that a close or fsync failed is no reason for
   * them to go.
   */
  private isSafe(call: Call): boolean {
    const { kind, outcome, errno = 0, wrote, content } = call;
    if (kind !== "write" || outcome !== "failed" || wrote === undefined || content === undefined) return true;
    if (!UNSAVED_ERRNOS.has(errno) || content === EMPTY) return true;
    const { truth, resting } = this.parts;
    if (resting.isRefused(call)) return true;
    if (truth.firstWith(content) !== undefined || resting.contents.has(content)) return true;
    if (resting.unsent.get(call.client)?.includes(call.path) === true) return true;
    return this.parts.isMixed(call) || this.isGivenUp(call);
  }

  /** A program of the same client removed the file since, or edited what it had become there. */
  private isGivenUp(call: Call): boolean {
    const paths = pathsSince(call, this.parts.calls);
    return this.parts.calls.some((each) => {
      if (each.client !== call.client || each.began <= call.began || !isChange(each.kind)) return false;
      // The client shows what it could not send: whoever writes a file anew there gives it up, and an edit starts from
      // it.
      if (each.kind === "write") return each.from === undefined ? paths.has(each.path) : each.from === call.content;
      const taken = [each.path, each.toPath].filter((path) => path !== undefined);
      const isOf = taken.some((path) => paths.has(path) || [...paths].some((own) => own.startsWith(`${path}/`)));
      return isOf && each.kind !== "link" && each.kind !== "make";
    });
  }
}

/** Paths of the call's file since then: the entry in status moves with whoever renames the file, or has linked it. */
export function pathsSince(call: Call, calls: readonly Call[]): ReadonlySet<string> {
  const { began } = call;
  const paths = linkedBefore(call, calls);
  for (const each of calls.toSorted((a, b) => a.began - b.began)) {
    const { kind, path: from, toPath: to, began: at, errno } = each;
    if (to === undefined || (kind === "rename" ? at < began : kind !== "link" || isKnownBefore(each, call))) continue;
    // A call that was refused has done nothing.
    if (errno !== undefined && !UNSAVED_ERRNOS.has(errno)) continue;
    if (paths.has(from)) paths.add(to);
    else if (kind === "link" && paths.has(to)) paths.add(from);
  }
  return paths;
}

/** A call of the same machine that had done its work by then. */
function isKnownBefore({ client, began, outcome }: Call, call: Call): boolean {
  return client === call.client && began < call.began && outcome === "ok";
}

/** Names that the call's file had on its machine as it began, by what programs there had done until then. */
function linkedBefore(call: Call, calls: readonly Call[]): Set<string> {
  /** Files by path: the same one for all its names. */
  const files = new Map<string, Call>();
  const before = calls.filter((each) => isKnownBefore(each, call));
  for (const each of before.toSorted((a, b) => a.began - b.began)) {
    const { kind, path: from, toPath: to } = each;
    if (kind === "remove" || kind === "removeTree") files.delete(from);
    if (kind !== "link" && kind !== "rename") continue;
    const file = files.get(from) ?? each;
    if (to !== undefined) files.set(to, file);
    if (kind === "link") files.set(from, file);
    else files.delete(from);
  }
  const { path } = call;
  const file = files.get(path);
  return new Set([path, ...[...files].flatMap(([name, each]) => (each === file ? [name] : []))]);
}

function shownCommit({ seq, client, content }: Committed): string {
  return `gone: what ${client} saved as commit ${seq} (${content?.key.slice(0, 24)} of node ${content?.node}) is nowhere`;
}

function shownWrite({ how, path, atMs, after }: OutsideWrite): string {
  return `gone: what a program on the server wrote to ${path} (${how}, ${after.slice(0, 24)}) at ${Math.round(atMs)} is nowhere`;
}

function shownCall({ client, path, content, began, ended, errno }: Call): string {
  return `gone: what ${client} was to write to ${path} (${content?.slice(0, 24)}) [${began}..${ended}] failed with errno ${errno} and is nowhere`;
}
