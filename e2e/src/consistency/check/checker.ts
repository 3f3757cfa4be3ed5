// Checks close-to-open ([W14], [W15]): what a program saw is the result of what had returned success before it began,
// or of something later; and what was told done is in the server's history.
import { type Call, folderOf, isChange, wordsOf, touches } from "./history.ts";
import { type DurabilityDeps, lostContents, pathsSince } from "./durability.ts";
import { GivenNames } from "./given-names.ts";
import { type Committed, EMPTY, type Truth, UNKNOWN, sizeOf, UNHEARD_MAX } from "./truth.ts";

export interface Verdict {
  /** Sentences about what was seen against the guarantee; none when it held. */
  violations: string[];
  /** Reads and listings that were held to it. */
  checked: number;
  /** Opens that began within one round trip after a change of another client returned. */
  close: number;
  offline: number;
}

/** Time in which kernels may answer for names and attributes by themselves; they count in ticks. */
const KERNEL_MS = 1_050;
/** EIO, ENOSPC: what was not saved then is kept, and sent later. */
const UNSAVED_ERRNOS: ReadonlySet<number> = new Set([5, 28]);

const NEAR_MS = 100;

/**
 * closeMs: what counts as "within one round trip". termMs: of leases. isAsync: programs may be answered before a change
 * is committed; what others see begins with its commit, and it shows on its own machine from the answer on.
 */
interface Times {
  closeMs: number;
  termMs: number;
  isAsync?: boolean;
}

type Kept = Omit<DurabilityDeps, "calls" | "truth" | "isMixed">;

/** With `kept` also what lies where at rest is looked at. */
export function check(calls: readonly Call[], truth: Truth, times: Times, kept?: Kept): Verdict {
  return new Checker(calls, truth, times, kept).run(kept);
}

class Checker {
  private readonly truth: Truth;
  private readonly calls: readonly Call[];
  private readonly times: Times;
  private readonly seqs = new Map<Call, number>();
  /** Commits that calls came to, in mode async. */
  private readonly taken = new Set<Committed>();
  private readonly names: GivenNames;
  private readonly kept: Kept | undefined;
  private readonly verdict: Verdict = { violations: [], checked: 0, close: 0, offline: 0 };

  constructor(calls: readonly Call[], truth: Truth, times: Times, kept: Kept | undefined) {
    this.truth = truth;
    this.calls = calls;
    this.times = times;
    this.kept = kept;
    this.names = new GivenNames({
      calls,
      truth,
      seqs: this.seqs,
      isAsync: times.isAsync === true,
      isTold: (call) => kept?.resting.isRefused(call) === true,
      isMixed: (call) => this.isMixed(call),
    });
  }

  run(kept?: Kept): Verdict {
    this.eachOnce();
    for (const call of this.calls) {
      if (!isChange(call.kind) || call.outcome !== "ok") continue;
      const seq = this.seqOf(call);
      if (seq === undefined && (this.isMixed(call) || this.changesNothing(call) || this.isReplaced(call))) continue;
      // Another program had a part in it: nobody can tell what it was answered for.
      if (seq !== undefined && seq > call.lastSeq && this.times.isAsync === true && this.isMixed(call)) continue;
      if (seq === undefined && this.times.isAsync === true && kept?.resting.isRefused(call) === true) continue;
      if (seq === undefined && (this.isRemovedByOthers(call) || kept?.resting.isHopeless(call) === true)) continue;
      if (seq === undefined)
        this.verdict.violations.push(`lost: ${wordsOf(call)} returned success, and was never committed`);
      else if (seq > call.lastSeq && !this.isMixed(call) && this.times.isAsync !== true)
        this.verdict.violations.push(`early: ${wordsOf(call)} returned success before commit ${seq}, which it came to`);
      else this.seqs.set(call, seq);
      const wrong = this.names.wrong(call, seq);
      if (wrong !== undefined) this.verdict.violations.push(wrong);
    }
    for (const call of this.calls) {
      if (isChange(call.kind) || call.outcome !== "ok") continue;
      if (call.kind === "flush") this.flushed(call);
      else this.look(call);
    }
    const { calls, truth } = this;
    const isMixed = (call: Call): boolean => this.isMixed(call);
    if (kept !== undefined) this.verdict.violations.push(...lostContents({ calls, truth, isMixed, ...kept }));
    return this.verdict;
  }

  private eachOnce(): void {
    const done = new Set<string>();
    for (const { instance, client, n, isStep, op, name, seq } of this.truth.commits) {
      if (n === 0 || isStep) continue;
      if (done.has(`${instance}/${n}`))
        this.verdict.violations.push(`twice: operation ${n} of ${client}, ${op} ${name}, again as commit ${seq}`);
      done.add(`${instance}/${n}`);
    }
  }

  /** The commit that a change which returned success came to; 0 when it had nothing to change. */
  private seqOf(call: Call): number | undefined {
    const { kind, path, toPath, content } = call;
    if (kind === "write" && content === EMPTY) return this.emptied(call);
    if (kind === "write") return content === undefined ? 0 : this.truth.firstWith(content);
    const at = kind === "rename" || kind === "link" ? (toPath ?? "") : path;
    const name = last(at);
    const op = operationOf(kind);
    const during = (each: Committed): boolean =>
      each.atMs >= call.beganMs &&
      (this.times.isAsync === true ? this.isLater(each, call, at) : each.atMs <= call.endedMs);
    // A name operation of another client with that name in that moment is taken for it only where there is none of its
    // own.
    const found = this.truth.commits.filter((each) => each.op === op && each.name === name && during(each));
    const own = found.filter(({ client }) => client === call.client);
    // Another client may have done the same itself, long after: a power cut can have taken what this one did.
    const others = this.times.isAsync === true ? found.filter((each) => !this.isOfOwnCall(each, call)) : found;
    // The first of several: what is held to it may then be held to less than was promised, never to more. Of one that
    // is of that name in another folder more would be asked than it was.
    const taken = own.find((each) => this.isAt(each, at)) ?? own[0] ?? (kind === "rename" ? others[0] : undefined);
    if (this.times.isAsync !== true || taken === undefined) return taken?.seq;
    // A call that was refused has left the commit to a later one.
    const isSame = (each: Call): boolean =>
      each !== call &&
      each.client === call.client &&
      operationOf(each.kind) === op &&
      each.path === path &&
      each.toPath === toPath;
    if (this.calls.some((each) => isSame(each) && each.began > call.began && each.began < taken.step)) return 0;
    this.taken.add(taken);
    return taken.seq;
  }

  /** A program of the commit's own client did the same as this call, with success. */
  private isOfOwnCall({ client }: Committed, { kind, path, toPath }: Call): boolean {
    return this.calls.some(
      (each) =>
        each.client === client &&
        each.outcome === "ok" &&
        operationOf(each.kind) === operationOf(kind) &&
        each.path === path &&
        each.toPath === toPath,
    );
  }

  /** The commit may be that of a program's call that was answered before: no other call came to it. */
  private isLater(committed: Committed, call: Call, at: string): boolean {
    if (this.taken.has(committed) || !(committed.isBeside || this.isAt(committed, at))) return false;
    if (call.kind !== "rename" && call.kind !== "link") return true;
    const moved = this.names.movedBy(call, committed.seq - 1);
    return committed.bindings.some(({ node }) => moved.has(node));
  }

  /** The commit was of a name at this path. */
  private isAt({ seq, op, bindings }: Committed, path: string): boolean {
    const now = this.truth.nodesAt(path, seq, seq);
    if (op === "remove") return now.size === 0 && this.truth.nodesAt(path, seq - 1, seq - 1).size > 0;
    // A file may have another name there from before.
    const folders = this.truth.nodesAt(folderOf(path).slice(0, -1), seq, seq);
    return bindings.some(({ folder, node }) => node !== 0 && now.has(node) && folders.has(folder));
  }

  /**
   * Says whether somebody else removed first what a program was told is removed, or put another file in its place,
   * perhaps without its hearing of it.
   */
  private isRemovedByOthers({ kind, path, client, firstSeq }: Call): boolean {
    if (kind !== "remove" || this.times.isAsync !== true) return false;
    const from = firstSeq - UNHEARD_MAX;
    return this.truth.commits.some(
      (each) => each.client !== client && each.seq > from && (this.removes(each, path) || this.replaces(each, path)),
    );
  }

  private removes(commit: Committed, path: string): boolean {
    return commit.op === "remove" && this.isAt(commit, path);
  }

  private replaces(commit: Committed, path: string): boolean {
    const before = this.truth.nodesAt(path, commit.seq - 1, commit.seq - 1);
    return commit.op === "rename" && before.size > 0 && this.isAt(commit, path);
  }

  /** Any save may come to nothing: that of an empty file need not be a commit. */
  private emptied(call: Call): number {
    // It may have come to any of several, at any time.
    if (this.times.isAsync === true) return 0;
    const emptied = this.truth.commits.find(
      ({ client, atMs, content }) =>
        client === call.client && content?.key === EMPTY && atMs >= call.beganMs && atMs <= call.endedMs,
    );
    return emptied?.seq ?? 0;
  }

  /**
   * Checks a flush: all that programs had written when it began, into files that are open or closed, is committed when
   * it ends, or it named the file.
   */
  private flushed(flush: Call): void {
    for (const call of this.calls) {
      const { client, kind, wrote = Infinity, outcome } = call;
      const seq = this.seqs.get(call) ?? 0;
      if (client !== flush.client || kind !== "write" || wrote > flush.began || outcome !== "ok") continue;
      if (seq <= flush.lastSeq || this.isReplaced(call, flush.ended)) continue;
      if (!this.isMixed(call) && flush.names?.includes(call.path) !== true)
        this.verdict.violations.push(
          `not flushed: ${wordsOf(flush)} returned success, and ${wordsOf(call)} was no commit yet`,
        );
    }
  }

  private look(call: Call): void {
    if (call.wasOffline) {
      this.verdict.offline += 1;
      return;
    }
    const untilMs = call.kind === "look" ? call.beganMs - KERNEL_MS : call.beganMs;
    const before = this.calls.filter(
      (each) =>
        this.seqs.has(each) &&
        each.ended < call.began &&
        each.endedMs <= untilMs &&
        touches(each, call) &&
        (each.client === call.client || !this.isExcused(each)),
    );
    const from = Math.max(0, ...before.map((each) => this.seqs.get(each) ?? 0));
    if (this.isOwnBusiness(call, from) || this.isBeforeItsCommit(call)) return;
    this.verdict.checked += 1;
    const isClose = before.some(
      (each) => each.client !== call.client && call.beganMs - each.endedMs <= this.times.closeMs,
    );
    if (isClose) this.verdict.close += 1;
    if (this.wasSo(call, from)) return;
    const newest = before.find((each) => this.seqs.get(each) === from);
    const why = newest === undefined ? "" : `; before it ${wordsOf(newest)} was commit ${from}`;
    const others = this.calls.filter(
      (each) => each !== call && each.client === call.client && touches(each, call) && isNear(each, call),
    );
    const meanwhile = others.length === 0 ? "" : `; around it ${others.map(wordsOf).join(", ")}`;
    this.verdict.violations.push(
      `stale or torn: ${wordsOf(call)} saw what was so at no moment of ${from} to ${call.lastSeq}${why}${meanwhile}`,
    );
  }

  /**
   * Others need not see what a program was told of while there was no line, nor what had not come when its client's
   * write lease ran out, or may have come to nothing: a later change may be like it.
   */
  private isExcused(change: Call): boolean {
    if (this.times.isAsync !== true) return false;
    const seq = this.seqs.get(change);
    const committed = this.truth.commits.find((each) => each.seq === seq)?.step ?? Infinity;
    const isDoubtful = change.wasOffline === true || this.kept?.resting.isRefused(change) === true;
    if (isDoubtful && committed > change.ended) return true;
    return this.truth.ranOut.some(
      ({ client, step }) => client === change.client && step >= change.began && step <= committed,
    );
  }

  /** A change of this machine shows there, and nobody else can have seen it. */
  private isBeforeItsCommit(call: Call): boolean {
    return this.calls.some(
      (each) =>
        each.client === call.client &&
        isChange(each.kind) &&
        each.began < call.ended &&
        touches(each, call) &&
        this.isUncommittedAt(each, call),
    );
  }

  private wasSo(call: Call, from: number): boolean {
    if (call.kind === "look") return this.wasLike(call, from);
    if (call.kind === "read") return this.wasReadable(call, from) || this.isBeingTaken(call);
    for (let seq = from; seq <= call.lastSeq; seq++) if (this.isAsAt(call, seq)) return true;
    return this.isBeingTaken(call);
  }

  /** A name is looked up first, and what it was then bound to is read later, under whatever name by then. */
  private wasReadable({ path, content, lastSeq }: Call, from: number): boolean {
    const seen = this.truth.readableAt(path, from, lastSeq);
    return seen.has(content) || (seen.has(UNKNOWN) && content !== undefined && content !== "folder");
  }

  /**
   * A name that another program of the same machine takes away shows what it showed before to who began before that
   * returned.
   */
  private isBeingTaken(call: Call): boolean {
    return this.calls.some((each) => {
      const taken = each.kind === "remove" || each.kind === "rename" ? this.seqs.get(each) : undefined;
      const isUnderWay = each.client === call.client && each.began < call.began && each.ended > call.began;
      return taken !== undefined && isUnderWay && touches(each, call) && this.isAsAt(call, taken - 1);
    });
  }

  /** A name and attributes that a kernel kept need not be of one moment. */
  private wasLike({ path, content, lastSeq }: Call, from: number): boolean {
    const seen = [...this.truth.observableAt(path, from, lastSeq)];
    if (seen.includes(UNKNOWN) && content !== undefined && content !== "folder") return true;
    return seen.some((key) => content === (key?.includes(":") === true ? String(sizeOf(key)) : key));
  }

  private isAsAt({ kind, path, content, names }: Call, seq: number): boolean {
    const there = kind === "read" ? this.truth.at(path, seq) : undefined;
    if (there === UNKNOWN) return content !== undefined && content !== "folder";
    if (kind === "read") return there === content;
    const listed = this.truth.list(path, seq);
    return listed === undefined ? names === undefined : names !== undefined && listed.join("/") === names.join("/");
  }

  /**
   * A file open for writing on the same machine, as by who makes it, or one whose save failed there and waits to be
   * sent, shows as it is there.
   */
  private isOwnBusiness(call: Call, from: number): boolean {
    const nodes = this.truth.nodesAt(call.path, from, call.lastSeq);
    return this.calls.some(
      (each) =>
        each.client === call.client &&
        (each.kind === "write" || each.kind === "create") &&
        each.began < call.ended &&
        this.isPendingAt(each, call) &&
        (touches(each, call) || this.isOneOf(this.sentUntil(each, call), nodes)),
    );
  }

  /**
   * A content that could not be sent may get a node of its own later, under the name that it was for; in mode async its
   * file may get that name at the server later.
   */
  private sentUntil(write: Call, { lastSeq }: Call): Call {
    if (write.outcome === "ok" && this.times.isAsync !== true) return write;
    return { ...write, lastSeq: Math.max(write.lastSeq, lastSeq) };
  }

  /** Under whatever names. */
  private isOneOf({ path, firstSeq, lastSeq }: Call, nodes: ReadonlySet<number>): boolean {
    return [...this.truth.nodesAt(path, Math.max(0, firstSeq - UNHEARD_MAX), lastSeq)].some((node) => nodes.has(node));
  }

  /**
   * Returns true when a write was under way as a call began, or waited. A write that was not confirmed is sent later;
   * and where it was done and no answer came, its client need not know of that, nor of what became of the file since,
   * before its lease has ended.
   */
  private isPendingAt(change: Call, call: Call): boolean {
    const { kind, outcome, ended, began, errno, content } = change;
    if (this.isUncommittedAt(change, call)) return true;
    if (kind === "create" && outcome === undefined) return false;
    const isSettled = outcome === "ok" || (errno !== undefined && !UNSAVED_ERRNOS.has(errno));
    if (isSettled || kind === "create") return ended > call.began;
    // It is unknown which of all the writes that emptied a file it came to.
    const seq = content === undefined || content === EMPTY ? undefined : this.truth.firstWith(content, began);
    const sent = this.truth.commits.find((each) => each.seq === seq);
    if (sent === undefined || Math.max(ended, sent.step) > call.began) return true;
    return sent.step < ended && call.beganMs <= sent.atMs + this.times.termMs;
  }

  /**
   * Before it was sent its own client put something else in its place, or made a folder that another client had made:
   * what nobody else has seen need not be committed. `until`: by a change that began before that step.
   */
  private isReplaced(call: Call, until = Infinity): boolean {
    if (this.times.isAsync !== true) return false;
    if (call.kind === "make")
      return this.truth.commits.some(({ op, name }) => op === "make" && name === last(call.path));
    const paths = pathsSince(call, this.calls);
    return this.calls.some(
      (each) =>
        each.client === call.client &&
        each.began > call.began &&
        each.began < until &&
        isChange(each.kind) &&
        ([each.path, each.toPath].some((path) => path !== undefined && paths.has(path)) ||
          this.wroteOther(each, call)) &&
        (call.kind !== "write" || each.kind !== "rename" || !this.isNameOf(call, each)),
    );
  }

  /** Says whether a write's file may have had the name that a later rename took, as that began. */
  private isNameOf(call: Call, { path, began }: Call): boolean {
    const before = this.calls.filter((each) => each.began < began);
    return pathsSince(call, before).has(path);
  }

  /** Says whether it wrote to the file of another write, by another name of it. */
  private wroteOther({ kind, path, lastSeq }: Call, call: Call): boolean {
    if (kind !== "write" || call.kind !== "write") return false;
    return this.truth.wereOne(path, call.path, call.firstSeq, lastSeq + UNHEARD_MAX);
  }

  /** Says whether its program was answered, and its client had not heard of its commit when a call began. */
  private isUncommittedAt(change: Call, call: Call): boolean {
    if (this.times.isAsync !== true || change.outcome !== "ok") return false;
    const seq = this.seqs.get(change);
    // It may have come to any commit, or to none.
    const heardSeq = Math.min(call.firstSeq, call.heardSeq ?? Infinity);
    if (seq === undefined || seq === 0 || seq > heardSeq) return true;
    if (change.kind !== "write") return false;
    // A write may come to several: one for its fsync, another for its close.
    const { content } = change;
    return content === EMPTY || this.truth.commits.some((each) => each.content?.key === content && each.seq > heardSeq);
  }

  /** rename(2) from one name of a file to another one of it does nothing. */
  private changesNothing({ kind, path, toPath = "", firstSeq, lastSeq }: Call): boolean {
    // The link that made them one may be committed later than the program was answered.
    const upTo = this.times.isAsync === true ? lastSeq + UNHEARD_MAX : lastSeq;
    return kind === "rename" && this.truth.wereOne(path, toPath, firstSeq, upTo);
  }

  /** Another program of the same machine wrote to the file too, under whatever name, or took its name away. */
  private isMixed(call: Call): boolean {
    const nodes = this.truth.nodesAt(call.path, Math.max(0, call.firstSeq - UNHEARD_MAX), call.lastSeq);
    return this.calls.some(
      (each) =>
        each !== call &&
        each.client === call.client &&
        isChange(each.kind) &&
        each.began < call.ended &&
        each.ended > call.began &&
        (touches(each, call) || this.wroteOrTook(each, nodes)),
    );
  }

  private wroteOrTook(call: Call, nodes: ReadonlySet<number>): boolean {
    if (call.kind !== "write" && call.kind !== "remove" && call.kind !== "rename") return false;
    return [call.path, call.toPath ?? call.path].some((path) => this.isOneOf({ ...call, path }, nodes));
  }
}

/** Returns the operation that a change comes to. */
function operationOf(kind: Call["kind"]): string {
  if (kind === "create") return "make";
  return kind === "removeTree" ? "remove" : kind;
}

/**
 * Returns true for calls at about the same time: a report shows them to the person who has to find out what was wrong.
 */
function isNear(other: Call, call: Call): boolean {
  return other.beganMs < call.endedMs && other.endedMs > call.beganMs - NEAR_MS;
}

function last(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
