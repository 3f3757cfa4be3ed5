// Bringing up: accepted commits become plain files, in seq order, one at a time, several to a sync. A batch is prepared beside the tree (other work
// goes on), its handles are logged, then it is put in place in the lane, synced, and stored. A failure stops at the commit that
// failed; it is begun again later, as after a crash.
import type { Clock, Executor, Timer, VersionId } from "@runnel/shared";
import { RunnelError, fromSystemError } from "@runnel/shared";
import type { MetaStore } from "../../meta/meta-store.ts";
import type { AcceptedCommit, ContentHost, ContentStatus } from "../content-store.ts";
import type { BaseHolds } from "./base-holds.ts";
import { BatchPreparer } from "./batch-preparer.ts";
import type { BusyNames } from "./busy-names.ts";
import { pathOfCommit } from "./commit-path.ts";
import type { DiskRows } from "./disk-rows.ts";
import type { Lane } from "./lane.ts";
import type { LiveTree, Looks } from "./live-tree.ts";
import { NotedHandles } from "./noted-handles.ts";
import { Overtaken } from "./overtaken.ts";
import type { PendingContents } from "./pending-contents.ts";
import { contentOf } from "./pending-contents.ts";
import type { Prepared } from "./prepare.ts";
import { closePrepared } from "./prepare.ts";
import { raise } from "./raise.ts";
import { isSameHandle } from "./same-file.ts";
import { TEMP_FOLDER, TRASH_FOLDER } from "./store-layout.ts";
import { UpSeq } from "./up-seq.ts";
import type { Versions } from "./versions.ts";

/** Commits to one sync; as many bytes as are copied in a fraction of a second. */
const BATCH_COMMITS = 64;
const BATCH_BYTES = 64 * 1024 * 1024;
/** Wanted of the trash besides what a commit needs. */
const SPARE_BYTES = 1024 * 1024;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;

export interface BringUpContext {
  tree: LiveTree;
  rows: DiskRows;
  pending: PendingContents;
  versions: Versions;
  holds: BaseHolds;
  lane: Lane;
  busy: BusyNames;
  clock: Clock;
  meta: MetaStore;
  host: Pick<ContentHost, "noteHandle" | "up" | "readLog" | "askCommitter">;
  executor: Executor | undefined;
  unavailable(): string | undefined;
  /** Makes room on the disk. */
  cutTrash(bytes: number): Promise<void>;
  /** To be compared with the rows. */
  lookAt(looks: Looks): void;
  /** What was pending when the server started is up. */
  recovered(): void;
  /** @throws Unavailable when the folder is not the volume's any more, or not at its path. */
  mustBeThere(): Promise<void>;
  /** The file system refused or failed in a way that may mean that it is gone. */
  doubt(): void;
}

export class BringUp {
  readonly #context: BringUpContext;
  readonly #queue: AcceptedCommit[] = [];
  /** In place, not yet stored. */
  #raised: AcceptedCommit[] = [];
  readonly #noted: NotedHandles;
  readonly #overtaken = new Overtaken();
  readonly #upSeq: UpSeq;
  readonly #preparer: BatchPreparer;
  /** Begun before. */
  readonly #begun = new Set<number>();
  /** The last seq of those begun before a crash, until it is up; then 0. */
  #recovering = 0;
  #stuck: ContentStatus["stuck"];
  #retryMs = RETRY_MS_MIN;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #applying: Promise<unknown> | undefined;
  #isClosed = false;

  /** `seq`: the last of the volume; all after `upSeq` that are not given to `accept` are on disk already. */
  constructor(context: BringUpContext, seq: number, upSeq: number, handles: ReadonlyMap<number, Uint8Array>) {
    this.#context = context;
    this.#upSeq = new UpSeq(seq, upSeq, (up) => context.host.up(up));
    this.#noted = new NotedHandles(handles);
    const { tree, versions, meta, host, pending, executor } = context;
    const isApplying = (): boolean => this.#applying !== undefined;
    const parts = { tree, versions, meta, host, executor, isApplying, noted: this.#noted.bySeq };
    this.#preparer = new BatchPreparer(parts, pending, this.#overtaken, (one) => this.#begun.has(one));
  }

  get pendingCommits(): number {
    return this.#queue.length + this.#raised.length;
  }

  /** The last commit that was given to it, or noted. */
  get seenSeq(): number {
    return this.#upSeq.seen;
  }

  get stuck(): ContentStatus["stuck"] {
    return this.#stuck;
  }

  /** `wasBegun`: it may have been, before a crash. */
  accept(commit: AcceptedCommit, wasBegun = false): void {
    const content = contentOf(commit);
    if (content !== undefined) this.#context.pending.add(content);
    this.#context.busy.add(commit);
    if (wasBegun) {
      this.#begin(commit);
      this.#recovering = commit.seq;
    }
    this.#queue.push(commit);
    this.#upSeq.see(commit.seq);
    this.go();
  }

  #begin(commit: AcceptedCommit): void {
    if (this.#begun.has(commit.seq)) return;
    this.#begun.add(commit.seq);
    this.#context.busy.begin(commit);
  }

  /** Another program's change was committed as `seq`: it is on disk. */
  async noteExternal(seq: number): Promise<void> {
    this.#upSeq.see(seq);
    await this.#advance();
  }

  /** With nothing left to bring up, all is up. */
  async #advance(): Promise<void> {
    const { seen, up } = this.#upSeq;
    if (this.pendingCommits > 0 || seen <= up) return;
    await this.#context.rows.store(seen);
    this.#upSeq.advanceTo(seen);
  }

  whenUp(seq: number): Promise<void> {
    return this.#upSeq.when(seq);
  }

  /** Resolves when no batch is just being put in place. */
  async steady(): Promise<void> {
    await this.#applying;
  }

  /** Begins or goes on; a wait for the next try ends. */
  go(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#running !== undefined || this.#isClosed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.pendingCommits > 0 && this.#timer === undefined) this.go();
    });
  }

  async #run(): Promise<void> {
    // Commits accepted in the same turn share the batch.
    await Promise.resolve();
    try {
      while (this.pendingCommits > 0 && !this.#isClosed) await this.#round();
      if (!this.#isClosed) await this.#context.lane.run(() => this.#advance());
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    const { kind, message } = fromSystemError(error, "bring up");
    this.#stuck = { path: await this.#firstPath(), kind, sentence: message };
    this.#context.doubt();
    const delayMs = this.#retryMs;
    this.#retryMs = Math.min(2 * delayMs, RETRY_MS_MAX);
    if (kind === "NoSpace") await this.#cutTrash();
    if (!this.#isClosed) this.#timer = this.#context.clock.after(delayMs, () => this.go());
  }

  /** Of the commit that is tried first. */
  async #firstPath(): Promise<string> {
    const commit = this.#queue[0] ?? this.#raised[0];
    try {
      return commit === undefined ? "" : await pathOfCommit(this.#context.meta, commit);
    } catch {
      return "";
    }
  }

  async #cutTrash(): Promise<void> {
    const first = this.#queue[0];
    const content = first && contentOf(first);
    try {
      await this.#context.cutTrash((content?.sizeBytes ?? 0) + SPARE_BYTES);
    } catch {
      // Tried again with the commit.
    }
  }

  async #round(): Promise<void> {
    const reason = this.#context.unavailable();
    if (reason !== undefined) throw new RunnelError("Unavailable", "bring up", reason);
    if (this.#raised.length > 0) await this.#inLane(() => this.#store());
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    const { prepared, problem } = await this.#preparer.prepare(batch);
    try {
      await this.#noted.note(this.#context.tree.root, this.#context.host, batch, prepared);
      await this.#inLane(() => this.#apply(batch, prepared));
    } finally {
      for (const each of prepared) await closePrepared(each);
    }
    if (problem !== undefined) throw problem;
    this.#stuck = undefined;
    this.#retryMs = RETRY_MS_MIN;
  }

  async #inLane(task: () => Promise<void>): Promise<void> {
    await this.#context.lane.run(async () => {
      const applying = task();
      this.#applying = applying.catch(() => undefined);
      try {
        await applying;
      } finally {
        this.#applying = undefined;
      }
    });
  }

  #takeBatch(): AcceptedCommit[] {
    const batch: AcceptedCommit[] = [];
    let bytes = 0;
    for (const commit of this.#queue) {
      bytes += commit.operation.op === "write" ? commit.operation.content.sizeBytes : 0;
      // A link is prepared from the file that the commits before have put in place, so those come first, by themselves.
      const isAlone = commit.operation.op === "link";
      // What was begun before is settled first: until then the tuples of what it touched are not known.
      const isOther = this.#begun.has(commit.seq) !== this.#begun.has(this.#queue[0]?.seq ?? 0);
      if (batch.length > 0 && (isAlone || isOther || batch.length >= BATCH_COMMITS || bytes > BATCH_BYTES)) break;
      batch.push(commit);
      if (isAlone) break;
    }
    return batch;
  }

  async #apply(batch: readonly AcceptedCommit[], prepared: readonly Prepared[]): Promise<void> {
    const { tree, rows } = this.#context;
    let isRetried = false;
    let problem: unknown;
    for (const [index, first] of prepared.entries()) {
      const commit = batch[index] as AcceptedCommit;
      const mark = rows.mark();
      tree.isRetry = this.#begun.has(commit.seq);
      // One that was in place may have been put back since, for the sake of an earlier one.
      const each = tree.isRetry && isPlaced(first) ? await this.#preparer.one(commit) : first;
      isRetried ||= tree.isRetry;
      this.#begin(commit);
      try {
        await raise(tree, commit, each);
      } catch (error) {
        rows.reset(mark);
        await this.#unraise(each);
        problem = error;
        break;
      }
      if (each !== first) await closePrepared(each);
      this.#queue.shift();
      this.#raised.push(commit);
    }
    if (isRetried) await tree.refreshRetried();
    await this.#store();
    if (problem !== undefined) throw problem;
  }

  /** Where a file was before it was put in place, by its logged handle. */
  tempOf(handle: Uint8Array): string | undefined {
    return this.#noted.tempOf(handle, this.#queue);
  }

  notedHandle(seq: number): Uint8Array | undefined {
    return this.#noted.bySeq.get(seq);
  }

  /** Names that renames still queued give to a node. */
  laterNames(node: number): { folder: number; name: string }[] {
    return this.#queue.flatMap(({ operation }) => {
      return operation.op === "rename" && operation.node === node
        ? [{ folder: operation.toFolder, name: operation.toName }]
        : [];
    });
  }

  /** Its temp can be read from again if it is still there. */
  async #unraise(prepared: Prepared): Promise<void> {
    if (prepared.kind !== "filled") return;
    const { content, temp } = prepared;
    try {
      content.isRaising = !isSameHandle((await this.#context.tree.find(temp.path))?.handle, temp.handle);
    } catch {
      content.isRaising = true;
    }
  }

  /** What was put in place becomes durable and known. */
  async #store(): Promise<void> {
    const { tree, rows, lookAt } = this.#context;
    if (this.#raised.length === 0) return;
    await tree.finish([TEMP_FOLDER, TRASH_FOLDER]);
    // What went into a folder that was moved away meanwhile is not up: it stays in the log for the folder that is served then [F111].
    await this.#context.mustBeThere();
    const next = this.#queue[0];
    const upSeq = next === undefined ? this.#upSeq.seen : next.seq - 1;
    await rows.store(upSeq);
    const raised = this.#raised;
    this.#raised = [];
    for (const commit of raised) await this.#settle(commit);
    this.#upSeq.advanceTo(upSeq);
    if (this.#recovering > 0 && (next?.seq ?? Infinity) > this.#recovering) {
      this.#recovering = 0;
      this.#context.recovered();
    }
    if (tree.context.trash.isOver) await tree.context.trash.cut();
    lookAt(tree.takeLooks());
  }

  async #settle(commit: AcceptedCommit): Promise<void> {
    const { pending, meta, holds } = this.#context;
    const content = contentOf(commit);
    const copied: VersionId[] = [];
    for (const version of this.#overtaken.take(commit.seq)) {
      copied.push(...pending.delete(version));
      await meta.forgetVersion(version);
    }
    if (content !== undefined && !this.#overtaken.has(content.version)) copied.push(...pending.delete(content.version));
    for (const version of copied) await holds.letGo(version);
    this.#noted.bySeq.delete(commit.seq);
    this.#context.busy.delete(commit, this.#begun.delete(commit.seq));
    this.#preparer.forget(commit.seq);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }
}

/** In the tree since before an interruption. */
function isPlaced(prepared: Prepared): boolean {
  return prepared.kind === "made" ? prepared.isPlaced : prepared.kind === "filled" && prepared.temp.open === undefined;
}
