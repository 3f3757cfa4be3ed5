// Says which files the server may have given a name that a program gave one, and checks that such a file is the one
// that the program saw: with what had been saved in it.
import { type Call, isChange, wordsOf, touches } from "./history.ts";
import { EMPTY, type Truth, UNHEARD_MAX } from "./truth.ts";

export interface GivenNamesDeps {
  calls: readonly Call[];
  truth: Truth;
  /** Commits that calls came to, as far as that is known. */
  seqs: ReadonlyMap<Call, number>;
  isAsync: boolean;
  /** The client says that it was refused. */
  isTold(call: Call): boolean;
  /** Another program of that client had a part in it. */
  isMixed(call: Call): boolean;
}

export class GivenNames {
  private readonly parts: GivenNamesDeps;

  constructor(parts: GivenNamesDeps) {
    this.parts = parts;
  }

  /**
   * Nodes that a rename or link may have been of, which the server has after the commit `seq`: under its old name, or,
   * where the file got that only on its machine, under the name of before, or beside.
   */
  movedBy({ client, kind, path, began, firstSeq }: Call, seq: number): Set<number> {
    const { calls, truth, seqs, isTold } = this.parts;
    // A link may be of a file that has just lost the name: its client has not heard of that.
    const there = truth.nodesAt(path, kind === "link" ? Math.max(0, Math.min(seq, firstSeq - UNHEARD_MAX)) : seq, seq);
    const named = calls.findLast(
      (each) =>
        each.client === client && each.began < began && each.outcome === "ok" && givenOrTaken(each).includes(path),
    );
    if (named?.kind !== "rename" || named.toPath !== path) return there;
    const committed = truth.commits.find((each) => each.seq === seqs.get(named));
    if (committed?.isBeside === true)
      return new Set([...there, ...committed.bindings.flatMap(({ node }) => (node === 0 ? [] : [node]))]);
    if (committed !== undefined || !isTold(named)) return there;
    return new Set([...there, ...this.movedBy(named, seq)]);
  }

  /**
   * Says what is wrong with the file that came to a name: it has to have what its program had saved in it, if that had
   * been all. Of two calls that may be the commit nothing can be told.
   */
  wrong(call: Call, seq: number | undefined): string | undefined {
    const { calls, truth, seqs, isAsync, isTold, isMixed } = this.parts;
    const { kind, path, client, began } = call;
    if (seqs.keys().some((other) => other !== call && areAlike(other, call))) return undefined;
    const commit = truth.commits.find((each) => each.seq === seq);
    const node = commit?.bindings.find((binding) => binding.node !== 0)?.node;
    if ((kind !== "rename" && kind !== "link") || commit === undefined || node === undefined) return undefined;
    const before = calls.filter(
      (each) => each !== call && isChange(each.kind) && each.began < call.ended && touches(each, call),
    );
    // The last change of all clients: others may have put another file there.
    const newest = before.toSorted((one, other) => one.ended - other.ended).at(-1);
    if (newest?.client !== client || newest.ended > began || isTold(newest)) return undefined;
    const { content, outcome } = newest;
    if (newest.kind !== "write" || newest.path !== path || outcome !== "ok" || content === EMPTY) return undefined;
    // Others may have put another file there while the program had this one open.
    if (before.some((each) => each.client !== client && each.ended > newest.began)) return undefined;
    if (isMixed(call) || isMixed(newest)) return undefined;
    if (truth.isUnwritten(node, commit.seq))
      return `empty: ${wordsOf(call)} was commit ${seq}, before what ${wordsOf(newest)} saved there`;
    if (!isAsync || content === undefined || truth.hasHad(node, content, commit.seq)) return undefined;
    if (this.hadBeenTheirs(call, node, content) || this.isSavedOver(newest, call, node, commit.seq)) return undefined;
    return `theirs: ${wordsOf(call)} was commit ${seq}, of a file that never had what ${wordsOf(newest)} saved there`;
  }

  /**
   * Says whether what a program had saved under a name was committed before the call was answered, into another file,
   * as a conflict copy is, or one of two names that has lost this one, and the name was this one's then, or when its
   * client began the call and had heard of that: the drive had it there by then.
   */
  private hadBeenTheirs({ path, client, ended, heardSeq = 0 }: Call, node: number, key: string): boolean {
    const { truth } = this.parts;
    const saved = truth.commits.find((each) => each.client === client && each.content?.key === key);
    if (saved === undefined || saved.step > ended) return false;
    return truth.nodesAt(path, saved.seq, Math.max(saved.seq, heardSeq)).has(node);
  }

  /** Says whether the same client wrote to the file by another name of it, after that write and before the call. */
  private isSavedOver(write: Call, { client, ended }: Call, node: number, seq: number): boolean {
    const { calls, truth } = this.parts;
    return calls.some(
      (each) =>
        each.client === client &&
        each.kind === "write" &&
        each.began > write.began &&
        each.began < ended &&
        each.content !== undefined &&
        truth.hasHad(node, each.content, seq),
    );
  }
}

function areAlike(one: Call, other: Call): boolean {
  return (
    one.client === other.client && one.kind === other.kind && one.path === other.path && one.toPath === other.toPath
  );
}

/** Lists names that a change gives to a file, or takes. */
function givenOrTaken({ kind, path, toPath = "" }: Call): string[] {
  if (kind === "remove") return [path];
  if (kind === "link") return [toPath];
  return kind === "rename" ? [path, toPath] : [];
}
