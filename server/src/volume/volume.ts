// A volume: one served folder with its log, meta store, content store and feed, and what may be done with them. What
// opening it makes of its log and meta store is recover.ts.
import type { Clock, DiskRoot, Executor, Log, Recipe, Timer, VersionId } from "@runnel/shared";
import { ROOT_NODE, RunnelError, isRunnelError, openLog } from "@runnel/shared";
import type { ContentEngine, ContentStore, SalvageReport } from "../content/content-store.ts";
import { Colleagues } from "../colleagues/colleagues.ts";
import type { NamedNetworks } from "../colleagues/named-networks.ts";
import type { PlacesOf } from "../feed/ancestors.ts";
import { type AttachedBefore, Feed } from "../feed/feed.ts";
import type { Holder } from "../feed/holder.ts";
import { parseRecord } from "../feed/write-leases.ts";
import type { Creation } from "../meta/first-rows.ts";
import type { MetaStore, Operation, OperationId, OperationResult } from "../meta/meta-store.ts";
import { ClientConflicts } from "./client-conflicts.ts";
import { NoticeHistory } from "./notice-history.ts";
import { LaterChanges } from "./later-changes.ts";
import { ChunkIndexer } from "./chunk-indexer.ts";
import { COMMIT_LOG_FORMAT, encodeRecord, isExternal } from "../commit-log/record.ts";
import type { LoggedRecord } from "../commit-log/record.ts";
import { CommitQueue } from "../commit-log/queue.ts";
import type { Committed, Placing, Published, Submission } from "../commit-log/queue.ts";
import { FreeSpace, logFailure } from "../commit-log/free-space.ts";
import { LogKeeper } from "../commit-log/keeper.ts";
import { RecipeCache } from "./recipe-cache.ts";
import { ObjectSweeper } from "./object-sweeper.ts";
import { OldRows } from "./old-rows.ts";
import { recover } from "./recover.ts";
import type { Recovered } from "./recover.ts";
import type { OldFolders } from "../upload/old-folders.ts";
import { ResumableUploads } from "../upload/resumable-uploads.ts";
import { ownerOf } from "../upload/allowances.ts";
import type { WriteOpening } from "../upload/write-notes.ts";
import { Traffic } from "../live/traffic.ts";
import { StuckWarning } from "./stuck-warning.ts";
import { Supplies } from "./supplies.ts";
import { VolumeUsage } from "./volume-usage.ts";
import { WriteSession } from "../upload/write-session.ts";

export interface VolumeDeps {
  name: string;
  clock: Clock;
  executor: Executor;
  /** This volume's own part of the data folder. */
  data: DiskRoot;
  termMs: number;
  /** Clients of an earlier epoch may hold leases, though no index tells of them. */
  hadClients?: boolean;
  /**
   * Opens the meta store; `create` makes a fresh one in place of whatever is there. NotFound when there is none,
   * Corrupt when it is damaged.
   */
  openMeta(create: Creation | undefined): Promise<MetaStore>;
  /** Opens what holds the contents; the volume closes it. */
  openEngine(): Promise<ContentEngine>;
  /** A segment of the commit log is closed when it has so many bytes; by default 64 MiB. */
  logSegmentBytes?: number;
  /** Bytes that a device may have staged, or an instance where devices are not known; by default LIMITS.stagedBytes. */
  stagedBytesMax?: number;
  /** Folders that a write may take chunks from. */
  oldFolders?: OldFolders | undefined;
  /** Networks that whoever runs the server names. */
  networks?: NamedNetworks | undefined;
  /**
   * The folder is the volume's no more: told once, after `open`. The volume is to be closed; what is in its log and not
   * applied waits there.
   */
  gone?(reason: string): void;
  warn(message: string, error?: unknown): void;
}

const LOG_FOLDER = "log";
/** Stands for the clients of an epoch that nobody remembers: they may hold leases for one more term. */
const CLIENTS_OF_BEFORE = { instance: "clients of an earlier epoch", termMs: 0, writeLeases: [ROOT_NODE] };

export class Volume {
  readonly name: string;
  readonly epoch: string;
  readonly meta: MetaStore;
  readonly content: ContentStore;
  readonly feed: Feed;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly uploads: ResumableUploads;
  readonly oldFolders: OldFolders | undefined;
  readonly recipes: RecipeCache;
  readonly supplies: Supplies;
  readonly traffic = new Traffic();
  readonly usage: VolumeUsage;
  readonly conflicts: ClientConflicts;
  readonly laterChanges: LaterChanges;
  readonly colleagues: Colleagues;
  private readonly queue: CommitQueue;
  readonly #indexer: ChunkIndexer;
  readonly #keeper: LogKeeper;
  readonly #oldRows: OldRows;
  readonly #objects: ObjectSweeper;
  readonly #stuckWarning: StuckWarning;
  private readonly log: Log;
  readonly #history: NoticeHistory;
  readonly #engine: ContentEngine;
  readonly #warn: VolumeDeps["warn"];
  /** The meta store was lost before this opening: what became of changes that only the log had. */
  readonly salvaged: SalvageReport | undefined;
  /**
   * Resolves when the folder has been scanned once since the start: one never read before looks empty until then.
   * Rejects with Unavailable if it goes.
   */
  readonly firstScan: Promise<void>;
  /** The index was empty at the start: nothing is known but what the first scan brings. */
  readonly isNew: boolean;
  #lastSeq: number;
  readonly #seqAtStart: number;
  #termTimer: Timer | undefined;
  #isStopped = false;
  /** Publications under way by seq, for submitters that wait for acknowledgements. */
  readonly #published = new Map<number, Promise<void>>();

  private constructor(deps: VolumeDeps, opened: Opened) {
    this.name = deps.name;
    this.clock = deps.clock;
    this.executor = deps.executor;
    this.epoch = opened.facts.epoch;
    this.salvaged = opened.salvaged;
    this.meta = opened.meta;
    this.content = opened.content;
    this.feed = opened.feed;
    this.supplies = opened.supplies;
    this.queue = opened.queue;
    this.log = opened.log;
    this.#engine = opened.engine;
    this.#lastSeq = this.#seqAtStart = opened.facts.seq;
    this.firstScan = opened.firstScan;
    this.isNew = opened.facts.seq === 0;
    this.#warn = deps.warn;
    this.recipes = new RecipeCache(opened.meta);
    const { meta, content, feed } = this;
    this.laterChanges = new LaterChanges(meta);
    const recipe = (version: VersionId): Promise<Recipe | undefined> => this.recipes.get(version);
    this.colleagues = new Colleagues({
      clock: this.clock,
      epoch: this.epoch,
      recipe,
      ...(deps.networks === undefined ? {} : { networks: deps.networks }),
    });
    this.#history = opened.history;
    this.conflicts = new ClientConflicts({
      meta,
      kept: opened.history,
      clock: this.clock,
      noticed: () => feed.noticed(),
      warn: deps.warn,
    });
    this.usage = new VolumeUsage({ meta: opened.meta, clock: deps.clock, seq: () => this.seq });
    this.oldFolders = deps.oldFolders;
    this.uploads = new ResumableUploads(
      {
        clock: deps.clock,
        epoch: this.epoch,
        resume: async (opening, file) => {
          const session = this.writeSession(opening);
          await session.resume(file);
          return session;
        },
        warn: deps.warn,
      },
      deps.stagedBytesMax,
    );
    const { queue, log } = opened;
    const { executor, clock, warn } = deps;
    this.#oldRows = new OldRows({ meta, clock, warn });
    this.#objects = new ObjectSweeper({ meta, clock, queue, warn });
    this.#stuckWarning = new StuckWarning((message) => warn(`${deps.name}: ${message}`));
    this.#indexer = new ChunkIndexer({ meta, content, executor, clock, queue, warn });
    const { appliedSeq } = opened.facts;
    this.#keeper = new LogKeeper({ log, meta, clock, warn, appliedSeq, segmentBytesMax: deps.logSegmentBytes });
    for (const { seq, data } of opened.commits) if (data !== undefined) this.#keeper.addCommit(seq, data.segment);
  }

  /**
   * @throws Version, Corrupt (a damaged log), Unavailable (the folder is not the volume's now), and what the disk
   * throws. Nothing stays open then.
   */
  static async open(deps: VolumeDeps): Promise<Volume> {
    const opened: { close(): Promise<void> }[] = [];
    try {
      const engine = await deps.openEngine();
      opened.push(engine);
      const { log, tornBytes } = await openLog(deps.data, LOG_FOLDER, COMMIT_LOG_FORMAT);
      opened.push(log);
      if (tornBytes > 0)
        deps.warn(
          `The commit log of ${deps.name} ended in ${tornBytes} bytes that were never acknowledged; they were cut.`,
        );
      const history = await NoticeHistory.open(deps.data, deps.warn);
      opened.push(history);
      const recovered = await recover(deps, engine, log, history);
      opened.push(recovered.meta);
      return await Volume.#start(deps, engine, log, { ...recovered, history });
    } catch (error) {
      for (const each of opened.toReversed()) await each.close().catch(() => undefined);
      throw error;
    }
  }

  static async #start(
    deps: VolumeDeps,
    engine: ContentEngine,
    log: Log,
    recovered: Recovered & { history: NoticeHistory },
  ): Promise<Volume> {
    const { meta, facts, salvaged, history } = recovered;
    const hadClients = salvaged !== undefined || deps.hadClients === true;
    const attached = hadClients ? [CLIENTS_OF_BEFORE] : await attachedBefore(meta);
    const placesOf: PlacesOf = async (node) => (await meta.namesOf(node)).map(({ folder }) => folder);
    const feed = new Feed(deps.clock, deps.termMs, attached, placesOf);
    let volume: Volume;
    const supplies = new Supplies(deps.clock, (instance, version, ranges) => feed.lack(instance, version, ranges));
    const firstScan = Promise.withResolvers<void>();
    firstScan.promise.catch(() => undefined);
    const indexedTo = { segment: facts.logSegment, offset: facts.logOffset };
    const space = new FreeSpace(deps.data, deps.clock);
    const queue = new CommitQueue({
      log,
      meta,
      clock: deps.clock,
      space,
      indexedTo,
      committed: (published) => volume.#committed(published),
    });
    // Until the folder has been scanned, nobody's picture of it counts as current.
    feed.withdraw();
    const content = await engine.open(meta, {
      externalChanges: async (operations, isSuperseded) => {
        const planned = await queue.submitAll(operations, isSuperseded);
        for (const operation of operations)
          if (operation.op === "setRecipe") volume.#indexer.index(operation.version, operation.recipe);
        return planned;
      },
      recordIntent: (seq, handle) => appendNote(log, { kind: "handle", seq, handle }),
      recordWaiting: (seqs) => appendNote(log, { kind: "wait", seq: seqs[0] ?? 0, seqs }),
      askCommitter: (instance, version, ranges, take) => supplies.ask(instance, version, ranges, take),
      readLog: (place, offset, length) => volume.#keeper.read(place, offset, length),
      keptNotices: history,
      noticed: () => feed.noticed(),
      applied: (seq) => {
        volume.#keeper.recordApplied(seq);
        // A hint: without it salvage has more to examine.
        log.write([encodeRecord({ kind: "up", seq }).bytes]).catch(() => undefined);
      },
      uncertain: () => feed.withdraw(),
      scanned: () => {
        feed.restore();
        volume.#indexer.schedule();
        firstScan.resolve();
      },
      unavailable: (reason) => {
        feed.withdraw();
        firstScan.reject(new RunnelError("Unavailable", "serve", reason));
        deps.gone?.(reason);
      },
      resumable: (files) => volume.uploads.addDetached(files),
    });
    const opened = { ...recovered, engine, log, content, queue, feed, supplies, firstScan: firstScan.promise };
    volume = new Volume(deps, opened);
    try {
      await content.start(recovered.commits, recovered.handles);
    } catch (error) {
      await volume.#stop().catch(() => undefined);
      throw error;
    }
    volume.#indexer.schedule();
    volume.#forgetExpired();
    return volume;
  }

  /** Seq of the last change. */
  get seq(): number {
    return this.#lastSeq;
  }

  /**
   * Commits one operation and waits for the acknowledgements of those with a lease.
   * @throws the tree's refusals; NoSpace of the log: then nothing happened. Io: what happened is known after a restart
   * only.
   */
  async commit(
    operation: Operation,
    id: OperationId | undefined,
    holder: Holder | undefined,
    data: Uint8Array = NO_DATA,
  ): Promise<OperationResult> {
    const { result, acknowledged } = await this.submit(operation, id, holder, data);
    await acknowledged;
    return result;
  }

  /**
   * Commits in two steps: resolves when the commit is durable and accepted by the content store; `acknowledged` then
   * waits for the others.
   */
  async submit(
    operation: Operation,
    id: OperationId | undefined,
    holder: Holder | undefined,
    data: Uint8Array,
    placing?: Placing,
  ): Promise<Committed & { acknowledged: Promise<void> }> {
    const checked = this.#checkPlace(operation);
    // An operation that need not wait keeps its place.
    if (checked !== undefined) await checked;
    const committed = await this.queue.submit({ operation, id, data, holder }, placing);
    return { ...committed, acknowledged: this.acknowledged(committed.result.seq, holder, id?.n ?? 0) };
  }

  /** Asks the content store whether it has something in the way, at a name or in a folder. */
  #checkPlace(operation: Operation): Promise<void> | undefined {
    const { content } = this;
    if (operation.op === "remove") return operation.isFolder ? content.checkExcluded(operation.node) : undefined;
    if (operation.op === "write" || operation.op === "setAttr") return undefined;
    const isMove = operation.op === "rename";
    const [folder, name] = isMove ? [operation.toFolder, operation.toName] : [operation.folder, operation.name];
    content.checkName(name);
    return content.checkFree(folder, name);
  }

  /**
   * Submits operations that are one, found when nothing else is being committed; returns the last one's result. @throws
   * as `submit`, and what `find` does.
   */
  async submitBatch(
    find: () => Promise<readonly Submission[]>,
    id: OperationId,
    holder: Holder | undefined,
    placing?: Placing,
  ): Promise<Committed & { acknowledged: Promise<void> }> {
    const committed = await this.queue.submitBatch(find, placing);
    return { ...committed, acknowledged: this.acknowledged(committed.result.seq, holder, id.n) };
  }

  /**
   * Resolves when a version that had no recipe has one, or cannot get one now, or the time is over: it is cut all the
   * same then.
   */
  async cutFirst(version: VersionId, waitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = this.clock.after(waitMs, over.resolve);
    await Promise.race([this.#indexer.cutFirst(version), over.promise]);
    timer.cancel();
  }

  /** Opens a session for one write of the epoch, to be given its items; it counts against its owner's quota. */
  writeSession(opening: Omit<WriteOpening, "epoch">): WriteSession {
    const allowance = this.uploads.allowance(ownerOf(opening));
    return new WriteSession(this, { ...opening, epoch: this.epoch }, allowance);
  }

  /** Resolves when those with a lease, whose change it is excepted, have it, or their leases have run out. */
  acknowledged(seq: number, holder: Holder | undefined, n: number): Promise<void> {
    const published = this.#published.get(seq);
    if (published !== undefined) return published;
    return seq <= this.#seqAtStart ? this.feed.appliedUpTo(seq, holder, n) : Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#stop();
    try {
      await this.meta.checkpoint();
    } catch (error) {
      // Another program reads the index: the log is rolled forward at the next start.
      if (!isRunnelError(error, "Busy")) throw error;
    } finally {
      await this.#history.close();
      await this.meta.close();
      await this.log.close();
      await this.#engine.close();
    }
  }

  /** Ends all that is under way. */
  async #stop(): Promise<void> {
    this.#termTimer?.cancel();
    this.#isStopped = true;
    this.usage.close();
    this.feed.close();
    this.supplies.close();
    await this.#indexer.close();
    await this.uploads.close();
    await this.#oldRows.close();
    await this.#objects.close();
    await this.queue.close();
    await this.content.close();
    await this.#keeper.close();
  }

  /** Every change passes here, in seq order: it is durable and indexed. */
  #committed(published: readonly Published[]): void {
    for (const { operation, id, change, result, data } of published) {
      this.#lastSeq = change.seq;
      if (!isExternal(operation)) {
        if (data !== undefined) this.#keeper.addCommit(change.seq, data.segment);
        this.content.accept({ seq: change.seq, operation, result, change, instance: id?.instance ?? "", data });
      }
      if (operation.op === "write" && operation.content.recipe !== undefined) {
        const version = { node: result.node, seq: result.version };
        this.recipes.put(version, operation.content.recipe);
        this.#indexer.index(version, operation.content.recipe);
      } else if (operation.op === "externalMake" || operation.op === "externalWrite") this.#indexer.schedule();
    }
    const last = published.at(-1);
    const acked = this.feed.publish(
      published.map(({ change }) => change),
      last?.holder,
      last?.id?.n ?? 0,
    );
    const seq = this.#lastSeq;
    this.#published.set(seq, acked);
    void acked.then(() => this.#published.delete(seq));
  }

  /**
   * Once a term: no restart need wait for clients that went away for good, and changes that long ago need no resume.
   */
  #forgetExpired(): void {
    if (this.#isStopped) return;
    this.#termTimer = this.clock.after(this.feed.termMs, () => {
      for (const instance of this.feed.forgetExpired()) {
        this.meta
          .setAttached(instance, 0)
          .catch((error: unknown) => this.#warn("A client that is gone could not be forgotten.", error));
      }
      this.#oldRows.forget(this.#lastSeq);
      this.#objects.sweep();
      this.#stuckWarning.look(this.content.status().stuck, this.clock.bootMs());
      this.#forgetExpired();
    });
  }
}

/** A quota of the log's disk is none of the folder's disk, for which old versions would give way. */
async function appendNote(log: Log, record: LoggedRecord): Promise<void> {
  await log.append([encodeRecord(record).bytes]).catch((error: unknown) => {
    throw logFailure(error);
  });
}

async function attachedBefore(meta: MetaStore): Promise<AttachedBefore[]> {
  const [attached, record] = [await meta.attached(), await meta.writeLease()];
  return attached.map((each) => ({ ...each, writeLeases: parseRecord(record, each.instance) }));
}

const NO_DATA = new Uint8Array(0);

interface Opened extends Recovered {
  supplies: Supplies;
  engine: ContentEngine;
  log: Log;
  content: ContentStore;
  history: NoticeHistory;
  queue: CommitQueue;
  feed: Feed;
  firstScan: Promise<void>;
}
