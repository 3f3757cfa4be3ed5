// Applying: accepted commits become plain files, in seq order, several to a sync. A batch is prepared beside the tree,
// its handles are logged, then it is put in place in the serial queue, synced and stored. A commit that fails waits,
// with those that depend on it (waiting-commits.ts), and is begun again later, as after a crash.
import type { Clock, Executor, VersionId } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { MetaStore, Passed } from "../../../meta/meta-store.ts";
import type { AcceptedCommit, ContentCallbacks, ContentStatus } from "../../content-store.ts";
import { Backoff } from "./backoff.ts";
import type { BaseHolds } from "../versions/base-holds.ts";
import type { Preparation } from "./batch-preparer.ts";
import { BatchPreparer, beingChanged } from "./batch-preparer.ts";
import type { BusyNames } from "../disk/busy-names.ts";
import { describeStuck } from "./commit-path.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { SerialQueue } from "../../../host/serial-queue.ts";
import type { LiveTree } from "./live-tree.ts";
import type { Probes } from "../disk/found.ts";
import { IntentRecords } from "./intent-records.ts";
import { SupersededVersions } from "./superseded-versions.ts";
import type { PendingContents } from "../versions/pending-contents.ts";
import { contentOf } from "../versions/pending-contents.ts";
import type { Prepared } from "./prepared.ts";
import { closePrepared, isPlaced } from "./prepared.ts";
import { applyCommit } from "./apply-commit.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { TEMP_FOLDER, TRASH_FOLDER } from "../disk/store-layout.ts";
import { AppliedSeq } from "./applied-seq.ts";
import type { Versions } from "../versions/versions.ts";
import { WaitingCommits, blameOf, isOfOnePlace } from "./waiting-commits.ts";

/** Commits to one sync; as many bytes as are copied in a fraction of a second. */
const BATCH_COMMITS = 64;
const BATCH_BYTES = 64 * 1024 * 1024;
/** Wanted of the trash besides what a commit needs. */
const SPARE_BYTES = 1024 * 1024;
/** Pause for each of many that wait: to try them again does not take up all of the time. */
const RETRY_MS_EACH = 10;

export interface ApplierDeps {
  tree: LiveTree;
  rows: DiskRows;
  pending: PendingContents;
  versions: Versions;
  holds: BaseHolds;
  serialQueue: SerialQueue;
  busy: BusyNames;
  clock: Clock;
  meta: MetaStore;
  callbacks: Pick<ContentCallbacks, "recordIntent" | "recordWaiting" | "applied" | "readLog" | "askCommitter">;
  executor: Executor | undefined;
  unavailable(): string | undefined;
  /** On the disk of the folder, of old versions. */
  reclaim(bytes: number, lacking: "NoSpace" | "Quota"): Promise<void>;
  /** Has these names compared with the rows. */
  probeLater(probes: Probes): void;
  /** Called when what was pending at the start is applied. */
  recovered(): void;
  /** @throws Unavailable when the folder is not the volume's any more, or not at its path. */
  checkRoot(): Promise<void>;
  /** The file system refused or failed in a way that may mean that it is gone. */
  checkLater(): void;
}

export class Applier {
  readonly #deps: ApplierDeps;
  /** Commits to be tried, in seq order. */
  #queue: AcceptedCommit[] = [];
  /** Being tried. */
  #batch: AcceptedCommit[] = [];
  /** Tried without success, or behind one of those. */
  readonly #waiting = new WaitingCommits();
  /** Commits of this batch that wait now. */
  #failed = new WaitingCommits();
  /** Commits that later ones may overtake by what the log says, and those of which it is still to say so. */
  readonly #bypassable = new Set<number>();
  #toBeNoted: number[] = [];
  /** Up to here all is applied but what waits. */
  #passed: number;
  /** Commits that are in place and not yet stored. */
  #inPlace: AcceptedCommit[] = [];
  readonly #intents: IntentRecords;
  readonly superseded = new SupersededVersions();
  readonly #appliedSeq: AppliedSeq;
  readonly #preparer: BatchPreparer;
  /** Begun before. */
  readonly #begun = new Set<number>();
  /** The last seq of those begun before a crash, until it is applied; then 0. */
  #recovering = 0;
  /** Nothing goes on. */
  #stopped: ContentStatus["stuck"];
  readonly #stop: Backoff;
  /** The first that waits, and why. */
  #waitsFor: { cause: unknown; stuck: NonNullable<ContentStatus["stuck"]> } | undefined;
  readonly #again: Backoff;
  /** Commits that wait are due to be tried. */
  #isDue = false;
  #running: Promise<void> | undefined;
  #applying: Promise<unknown> | undefined;
  #isClosed = false;

  /**
   * `seq`: the last of the volume; all after `appliedSeq` that are not given to `accept` are on disk already. Of those
   * given the ones up to `passedSeq` were passed by later ones.
   */
  constructor(
    deps: ApplierDeps,
    { seq, appliedSeq, passedSeq }: { seq: number; appliedSeq: number; passedSeq: number },
    handles: ReadonlyMap<number, Uint8Array>,
  ) {
    this.#deps = deps;
    this.#passed = passedSeq;
    this.#stop = new Backoff(deps.clock, () => this.go());
    this.#again = new Backoff(deps.clock, () => {
      this.#isDue = true;
      this.go();
    });
    this.#appliedSeq = new AppliedSeq(seq, appliedSeq, (applied) => deps.callbacks.applied(applied));
    this.#intents = new IntentRecords(handles);
    const { tree, versions, meta, callbacks, pending, executor } = deps;
    const intentOfContent = (node: number): ReturnType<IntentRecords["contentOf"]> =>
      this.#intents.contentOf(node, this.#notInPlace());
    const isApplying = (): boolean => this.#applying !== undefined;
    const preparerDeps = {
      tree,
      versions,
      meta,
      callbacks,
      executor,
      isApplying,
      intents: this.#intents.bySeq,
      intentOfContent,
    };
    this.#preparer = new BatchPreparer(preparerDeps, pending, this.superseded, (one) => this.#begun.has(one));
  }

  get pendingCommits(): number {
    return this.#queue.length + this.#batch.length + this.#waiting.size + this.#inPlace.length;
  }

  /** The last commit that was given to it, or recorded. */
  get lastSeq(): number {
    return this.#appliedSeq.lastSeq;
  }

  get stuck(): ContentStatus["stuck"] {
    return this.#stopped ?? this.#waitsFor?.stuck;
  }

  /** Commits that are not in place, in no order. */
  *#notInPlace(): Generator<AcceptedCommit> {
    yield* this.#waiting.commits;
    yield* this.#batch;
    yield* this.#queue;
  }

  /** There is something to do now. */
  get #hasWork(): boolean {
    return this.#isDue || this.#queue.length + this.#inPlace.length > 0;
  }

  /** `wasBegun`: it may have been, before a crash. */
  accept(commit: AcceptedCommit, wasBegun = false): void {
    const content = contentOf(commit);
    if (content !== undefined) this.#deps.pending.add(content);
    this.#deps.busy.add(commit);
    if (wasBegun) {
      this.#begin(commit);
      this.#recovering = commit.seq;
    }
    this.#queue.push(commit);
    this.#appliedSeq.noteSeq(commit.seq);
    this.go();
  }

  #begin(commit: AcceptedCommit): void {
    if (this.#begun.has(commit.seq)) return;
    this.#begun.add(commit.seq);
    this.#deps.busy.begin(commit);
  }

  /** Another program's change was committed as `seq`: it is on disk. */
  async noteExternal(seq: number): Promise<void> {
    this.#appliedSeq.noteSeq(seq);
    await this.#advance();
  }

  /** With nothing left to apply, all is applied. */
  async #advance(): Promise<void> {
    const { lastSeq, applied } = this.#appliedSeq;
    if (this.pendingCommits > 0 || lastSeq <= applied) return;
    await this.#deps.rows.store(lastSeq);
    this.#appliedSeq.advanceTo(lastSeq);
  }

  whenApplied(seq: number): Promise<void> {
    return this.#appliedSeq.whenApplied(seq);
  }

  /** Resolves when no batch is just being put in place. */
  async steady(): Promise<void> {
    await this.#applying;
  }

  /** Begins or goes on; a wait for the next try of everything ends. */
  go(): void {
    this.#stop.cancel();
    if (this.#running !== undefined || this.#isClosed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork && !this.#stop.isWaiting) this.go();
    });
  }

  async #run(): Promise<void> {
    // Commits accepted in the same turn share the batch.
    await Promise.resolve();
    try {
      while (this.#hasWork && !this.#isClosed) await this.#round();
      if (!this.#isClosed) await this.#deps.serialQueue.run(() => this.#advance());
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    this.#stopped = await describeStuck(this.#deps.meta, this.#queue[0] ?? this.#inPlace[0], error);
    this.#deps.checkLater();
    const { kind } = this.#stopped;
    if (kind === "NoSpace" || kind === "Quota") await this.#reclaim(kind);
    if (!this.#isClosed) this.#stop.wait();
  }

  /** Says why some wait, and when they are tried again. */
  async #wait(): Promise<void> {
    const { cause, size } = this.#waiting;
    if (size > 0 && cause !== undefined) {
      if (this.#waitsFor?.cause !== cause)
        this.#waitsFor = { cause, stuck: await describeStuck(this.#deps.meta, cause.commit, cause.error) };
      if (this.#again.isWaiting || this.#isClosed) return;
      this.#deps.checkLater();
      this.#again.wait(RETRY_MS_EACH * size);
    } else if (this.#queue.length === 0) {
      this.#waitsFor = undefined;
      this.#again.reset();
    }
  }

  async #reclaim(kind: "NoSpace" | "Quota"): Promise<void> {
    const first = this.#queue[0];
    const content = first && contentOf(first);
    try {
      await this.#deps.reclaim((content?.sizeBytes ?? 0) + SPARE_BYTES, kind);
    } catch {
      // Tried again with the commit.
    }
  }

  async #round(): Promise<void> {
    const { rows, unavailable } = this.#deps;
    const reason = unavailable();
    if (reason !== undefined) throw new RunnelError("Unavailable", "apply", reason);
    if (this.#inPlace.length > 0) await this.#inSerialQueue(() => this.#store());
    if (this.#isDue) this.#queue = [...this.#waiting.takeAll(), ...this.#queue];
    this.#isDue = false;
    this.#takeBatch();
    this.#failed = new WaitingCommits();
    let preparations: Preparation[] = [];
    try {
      preparations = await this.#preparer.prepare(this.#batch);
      for (const each of preparations)
        if (each.kind === "failed") each.error = await blameOf(each.error, this.#deps.checkRoot);
      const end = preparations.findIndex((each) => each.kind === "failed" && !isOfOnePlace(each.error));
      const [usable, stopping] = end < 0 ? [preparations] : [preparations.slice(0, end), preparations[end]];
      await this.#intents.note(this.#deps.tree.root, this.#deps.callbacks, this.#batch, usable);
      await this.#inSerialQueue(() => rows.gathering(this.#batch, this.#begun, () => this.#apply(usable)));
      if (stopping?.kind === "failed") throw stopping.error;
    } finally {
      await Promise.all(preparations.map((each) => (each.kind === "failed" ? undefined : closePrepared(each))));
      if (this.#batch.length > 0) this.#queue = [...this.#batch.splice(0), ...this.#queue];
    }
    this.#stopped = undefined;
    this.#stop.reset();
    await this.#wait();
  }

  /** With those that it has superseded in this batch: they have done nothing, and the log keeps them with it. */
  #passOver(commit: AcceptedCommit, error?: unknown): void {
    this.#waiting.add(commit, error);
    this.#failed.add(commit, error);
    if (!this.#bypassable.has(commit.seq)) {
      this.#toBeNoted.push(commit.seq);
      this.#bypassable.add(commit.seq);
      // A first failure may be over soon.
      if (error !== undefined) this.#again.reset();
      if (error !== undefined) this.#again.cancel();
    }
    for (const { node, seq } of this.superseded.take(commit.seq)) {
      for (const list of [this.#inPlace, this.#batch]) {
        const at = list.findIndex(({ result }) => result.node === node && result.version === seq);
        const [superseded] = at < 0 ? [] : list.splice(at, 1);
        if (superseded !== undefined) this.#passOver(superseded);
      }
    }
  }

  /** Logs that these wait before later ones are put in place: salvage must not take them for applied then [F167]. */
  async #recordWaiting(): Promise<void> {
    const seqs = this.#toBeNoted.toSorted((a, b) => a - b);
    if (seqs.length === 0) return;
    await this.#deps.callbacks.recordWaiting(seqs);
    this.#toBeNoted = this.#toBeNoted.slice(seqs.length);
  }

  async #inSerialQueue(task: () => Promise<void>): Promise<void> {
    await this.#deps.serialQueue.run(async () => {
      const applying = task();
      this.#applying = applying.catch(() => undefined);
      try {
        await applying;
      } finally {
        this.#applying = undefined;
      }
    });
  }

  /** Passes over what depends on a commit that waits. What stands behind those taken is moved up once for all. */
  #takeBatch(): void {
    let [taken, bytes] = [0, 0];
    for (const commit of this.#queue) {
      if (this.#waiting.blocks(commit)) this.#passOver(commit);
      else {
        bytes += commit.operation.op === "write" ? commit.operation.content.sizeBytes : 0;
        const [first] = this.#batch;
        // A link is prepared from a file that commits before it put in place, so those come first, by themselves.
        const isAlone = commit.operation.op === "link";
        // Commits begun before are settled first: until then the tuples of what they touched are not known.
        const isOther = first !== undefined && this.#begun.has(commit.seq) !== this.#begun.has(first.seq);
        const isFull = this.#batch.length >= BATCH_COMMITS || bytes > BATCH_BYTES;
        if (first !== undefined && (first.operation.op === "link" || isAlone || isOther || isFull)) break;
        this.#batch.push(commit);
      }
      taken++;
    }
    this.#queue.splice(0, taken);
  }

  async #apply(preparations: readonly Preparation[]): Promise<void> {
    const { tree } = this.#deps;
    let isRetried = false;
    let problem: unknown;
    for (const each of preparations) {
      const commit = this.#batch[0] as AcceptedCommit;
      const failure = this.#failureOf(commit, each);
      if (each.kind === "failed" || failure !== undefined) {
        this.#batch.shift();
        this.#passOver(commit, failure?.error);
        continue;
      }
      isRetried ||= this.#begun.has(commit.seq);
      problem = await this.#applyCommit(commit, each);
      if (problem !== undefined && !isOfOnePlace(problem)) break;
      this.#batch.shift();
      if (problem === undefined) this.#inPlace.push(commit);
      else this.#passOver(commit, problem);
      problem = undefined;
    }
    if (isRetried) await tree.refreshRetried();
    await this.#store();
    if (problem !== undefined) throw problem;
  }

  /** Why it is not to be put in place; without an error for the sake of others of the batch. */
  #failureOf(commit: AcceptedCommit, each: Preparation): { error?: unknown } | undefined {
    if (this.#failed.blocks(commit)) return {};
    if (each.kind === "failed") return each;
    if (each.kind !== "lost") return undefined;
    // The bytes that it lacked may be there now that those before it are in place.
    const before = new WaitingCommits();
    for (const inPlace of this.#inPlace) before.add(inPlace);
    return before.blocks(commit) ? { error: beingChanged() } : undefined;
  }

  /** @returns what it failed by; then all but what is on disk is as it was. */
  async #applyCommit(commit: AcceptedCommit, first: Prepared): Promise<unknown> {
    const { tree, rows } = this.#deps;
    const mark = rows.mark();
    const resetTree = tree.mark();
    tree.isRetry = this.#begun.has(commit.seq);
    tree.isLate = commit.seq <= this.#passed;
    let each = first;
    try {
      await this.#recordWaiting();
      // A file that was in place may have been put back since, for the sake of an earlier one.
      if (tree.isRetry && isPlaced(first)) each = await this.#preparer.one(commit);
      this.#begin(commit);
      await applyCommit(tree, commit, each);
      return undefined;
    } catch (error) {
      rows.reset(mark);
      resetTree();
      await this.#releaseTemp(each);
      return (await blameOf(error, this.#deps.checkRoot)) ?? new Error("It failed without a reason.");
    } finally {
      if (each !== first) await closePrepared(each);
    }
  }

  /** Path that a file had before it was put in place, by its logged handle. */
  tempOf(handle: Uint8Array): string | undefined {
    return this.#intents.tempOf(handle, this.#notInPlace());
  }

  intentHandle(seq: number): Uint8Array | undefined {
    return this.#intents.bySeq.get(seq);
  }

  /** Names that renames still queued give to a node. */
  laterNames(node: number): { folder: number; name: string }[] {
    const names: { folder: number; name: string }[] = [];
    for (const { operation } of this.#notInPlace())
      if (operation.op === "rename" && operation.node === node)
        names.push({ folder: operation.toFolder, name: operation.toName });
    return names;
  }

  /** Lets reads use its temp again if that is still there. */
  async #releaseTemp(prepared: Prepared): Promise<void> {
    const filled = prepared.kind === "made" ? prepared.filled : prepared;
    if (filled === undefined || !("temp" in filled)) return;
    const { content, temp } = filled;
    try {
      content.isBeingApplied = !isSameHandle((await this.#deps.tree.find(temp.path))?.handle, temp.handle);
    } catch {
      content.isBeingApplied = true;
    }
  }

  /** Makes durable and known what was put in place. */
  async #store(): Promise<void> {
    const { tree, rows, probeLater } = this.#deps;
    if (this.#inPlace.length === 0) return;
    await tree.finish([TEMP_FOLDER, TRASH_FOLDER]);
    // A commit that went into a folder moved away meanwhile stays in the log, for the one that is served then [F111].
    await this.#deps.checkRoot();
    const { appliedSeq, passed } = this.#progress();
    await rows.store(appliedSeq, passed);
    this.#passed = Math.max(this.#passed, passed?.seq ?? appliedSeq);
    const inPlace = this.#inPlace;
    this.#inPlace = [];
    for (const commit of inPlace) await this.#settle(commit);
    this.#appliedSeq.advanceTo(appliedSeq);
    if (this.#recovering > 0 && appliedSeq >= this.#recovering) {
      this.#recovering = 0;
      this.#deps.recovered();
    }
    probeLater(tree.takeProbes());
    if (tree.deps.trash.isOver) await tree.deps.trash.cut();
  }

  /** Computes how far all is applied with what is in place now, and what is applied beyond. */
  #progress(): { appliedSeq: number; passed: Passed | undefined } {
    const seq = this.#inPlace.reduce((last, one) => Math.max(last, one.seq), this.#passed);
    const waiting: number[] = [];
    let next = Infinity;
    for (const commits of [this.#waiting.commits, this.#batch, this.#queue]) {
      for (const one of commits) {
        next = Math.min(next, one.seq);
        if (one.seq <= seq) waiting.push(one.seq);
        // These are in order.
        else if (commits === this.#queue) break;
      }
    }
    const appliedSeq = next === Infinity ? this.#appliedSeq.lastSeq : next - 1;
    if (next > seq) return { appliedSeq, passed: undefined };
    return { appliedSeq, passed: { seq, waiting: waiting.sort((a, b) => a - b) } };
  }

  async #settle(commit: AcceptedCommit): Promise<void> {
    const { pending, meta, holds } = this.#deps;
    const content = contentOf(commit);
    const copied: VersionId[] = [];
    for (const version of this.superseded.take(commit.seq)) {
      copied.push(...pending.delete(version));
      await meta.forgetVersion(version);
    }
    if (content !== undefined && !this.superseded.has(content.version)) copied.push(...pending.delete(content.version));
    for (const version of copied) await holds.evict(version);
    this.#intents.bySeq.delete(commit.seq);
    this.#bypassable.delete(commit.seq);
    this.#deps.busy.delete(commit, this.#begun.delete(commit.seq));
    this.#preparer.forget(commit.seq);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop.cancel();
    this.#again.cancel();
    await this.#running;
  }
}
