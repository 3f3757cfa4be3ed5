// A volume: one served folder with its log, meta store, content store and feed, and what may be done with them. Opening it rolls the log
// forward; a lost or damaged meta store is rebuilt from folder and trash, in a new epoch.
import { randomBytes, randomInt } from "node:crypto";
import type { Change, Clock, Disk, DiskRoot, Executor, Log, RecordPlace } from "@runnel/shared";
import { isRunnelError, openLog } from "@runnel/shared";
import type { AcceptedCommit, ContentHost, ContentStore } from "../content/content-store.ts";
import { Feed } from "../feed/feed.ts";
import type { Holder } from "../feed/holder.ts";
import type { Creation } from "../meta/first-rows.ts";
import type { MetaStore, Operation, OperationId, OperationResult } from "../meta/meta-store.ts";
import { ChunkIndexer } from "./chunk-indexer.ts";
import { COMMIT_LOG_FORMAT, decodeRecord, encodeRecord } from "./commit-record.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { Submission } from "./commit-queue.ts";
import { StagedWrites } from "./staged-writes.ts";
import { LogKeeper } from "./log-keeper.ts";

export interface VolumeParts {
  name: string;
  clock: Clock;
  executor: Executor;
  disk: Disk;
  /** The served folder's path. */
  folder: string;
  /** This volume's own part of the data folder. */
  data: DiskRoot;
  termMs: number;
  /** Opens the meta store; `create` makes a fresh one in place of whatever is there. NotFound when there is none, Corrupt when it is damaged. */
  openMeta(create: Creation | undefined): Promise<MetaStore>;
  openContent(root: DiskRoot, meta: MetaStore, host: ContentHost): Promise<ContentStore>;
  warn(message: string, error?: unknown): void;
}

const LOG_FOLDER = "log";
/** Where the ids of an epoch begin: anywhere below 2^32, in steps that leave room for a million nodes. */
const FIRST_NODE_STEP = 2 ** 20;
const FIRST_NODE_PLACES = 4095;

export class Volume {
  readonly name: string;
  readonly epoch: string;
  readonly meta: MetaStore;
  readonly content: ContentStore;
  readonly feed: Feed;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly stagedWrites: StagedWrites;
  private readonly queue: CommitQueue;
  private readonly indexer: ChunkIndexer;
  private readonly keeper: LogKeeper;
  private readonly log: Log;
  private readonly root: DiskRoot;
  private lastSeq: number;
  /** Publications under way by seq, for submitters that wait for acknowledgements. */
  private readonly published = new Map<number, Promise<void>>();

  private constructor(parts: VolumeParts, opened: { root: DiskRoot; log: Log; meta: MetaStore; content: ContentStore; queue: CommitQueue; feed: Feed; epoch: string; seq: number }) {
    this.name = parts.name;
    this.clock = parts.clock;
    this.executor = parts.executor;
    this.epoch = opened.epoch;
    this.meta = opened.meta;
    this.content = opened.content;
    this.feed = opened.feed;
    this.queue = opened.queue;
    this.log = opened.log;
    this.root = opened.root;
    this.lastSeq = opened.seq;
    this.stagedWrites = new StagedWrites(parts.clock);
    this.indexer = new ChunkIndexer({ meta: this.meta, content: this.content, executor: parts.executor, clock: parts.clock, queue: this.queue, warn: parts.warn });
    this.keeper = new LogKeeper({ log: this.log, meta: this.meta, clock: parts.clock, warn: parts.warn });
  }

  static async open(parts: VolumeParts): Promise<Volume> {
    const root = await parts.disk.openRoot(parts.folder);
    const { log, tornBytes } = await openLog(parts.data, LOG_FOLDER, COMMIT_LOG_FORMAT);
    if (tornBytes > 0) parts.warn(`The commit log of ${parts.name} ended in ${tornBytes} bytes that were never acknowledged; they were cut.`);
    const { meta, isFresh } = await openMeta(parts);
    const facts = await meta.facts();
    const recovered = isFresh ? await startAfresh(log) : await rollForward(log, meta);
    const feed = new Feed(parts.clock, parts.termMs, await meta.attached());

    // Until the folder has been looked through, nobody's picture of it counts as current.
    feed.withdraw();
    const looked = Promise.withResolvers<void>();
    let volume: Volume | undefined;
    let content: ContentStore | undefined;
    const queue = new CommitQueue(log, meta, parts.clock, (change, submission, result, data) => volume?.committed(change, submission, result, data));
    const host: ContentHost = {
      external: (operations) => queue.submitAll(operations),
      noteHandle: async (seq, handle) => {
        await log.append([encodeRecord({ kind: "handle", seq, handle }, NO_DATA).bytes]);
      },
      readLog: (place, offset, length) => log.read(place, offset, length),
      up: (seq) => {
        feed.up(seq);
        volume?.keeper.up(seq);
      },
      uncertain: () => feed.withdraw(),
      scanned: () => {
        looked.resolve();
        feed.restore();
        volume?.indexer.wake();
      },
      availability: (reason) => {
        if (reason === undefined) {
          feed.restore();
          return;
        }
        looked.resolve();
        feed.withdraw();
      },
    };
    content = await parts.openContent(root, meta, host);
    volume = new Volume(parts, { root, log, meta, content, queue, feed, epoch: facts.epoch, seq: (await meta.facts()).seq });
    await content.start(recovered.commits, recovered.handles);
    // A folder never read before would look empty to whoever came first.
    if (isFresh) await looked.promise;
    volume.indexer.wake();
    return volume;
  }

  /** Seq of the last change. */
  get seq(): number {
    return this.lastSeq;
  }

  /**
   * Commits one operation and waits for the acknowledgements of those with a lease. `n` is the client's operation number, for `waiting`.
   * @throws the tree's refusals; NoSpace, Io of the log: then nothing happened.
   */
  async commit(operation: Operation, id: OperationId | undefined, holder: Holder | undefined, data: Uint8Array = NO_DATA): Promise<OperationResult> {
    const committed = await this.queue.submit({ operation, id, data, holder });
    await this.published.get(committed.result.seq);
    return committed.result;
  }

  async close(): Promise<void> {
    this.feed.close();
    await this.indexer.close();
    await this.stagedWrites.close();
    await this.queue.idle();
    await this.content.close();
    await this.keeper.close();
    await this.meta.checkpoint();
    await this.meta.close();
    await this.log.close();
    await this.root.close();
  }

  /** Every change passes here, in seq order: it is durable and indexed. */
  private committed(change: Change, submission: Submission, result: OperationResult, data: RecordPlace | undefined): void {
    this.lastSeq = change.seq;
    const { operation } = submission;
    if (isOwn(operation)) this.content.accept({ seq: change.seq, operation, result, change, data });
    if (data !== undefined) this.keeper.wrote(change.seq, data.segment, isOwn(operation));
    const acked = this.feed.publish(change, submission.holder, submission.id?.n ?? 0);
    this.published.set(change.seq, acked);
    void acked.then(() => this.published.delete(change.seq));
    if (operation.op === "write" && operation.content.recipe !== undefined) {
      this.indexer.index({ node: result.node, seq: result.version }, operation.content.recipe);
    } else if (operation.op === "externalMake" || operation.op === "externalWrite") this.indexer.wake();
  }
}

const NO_DATA = new Uint8Array(0);

interface Recovered {
  commits: AcceptedCommit[];
  handles: Map<number, Uint8Array>;
}

async function openMeta(parts: VolumeParts): Promise<{ meta: MetaStore; isFresh: boolean }> {
  try {
    return { meta: await parts.openMeta(undefined), isFresh: false };
  } catch (error) {
    if (!isRunnelError(error, "NotFound", "Corrupt")) throw error;
    if (error.kind === "Corrupt") parts.warn(`The index of ${parts.name} is damaged and is made anew from the folder.`, error);
    const firstNode = 2 + randomInt(FIRST_NODE_PLACES) * FIRST_NODE_STEP;
    return { meta: await parts.openMeta({ epoch: randomBytes(16).toString("hex"), firstNode }), isFresh: true };
  }
}

/** Records of another epoch mean nothing to a new meta store: the log begins anew. */
async function startAfresh(log: Log): Promise<Recovered> {
  await log.dropBefore(await log.rotate());
  return { commits: [], handles: new Map() };
}

/** Brings the index up to the log, and finds the commits that are not in the plain folder yet. */
async function rollForward(log: Log, meta: MetaStore): Promise<Recovered> {
  const facts = await meta.facts();
  const recovered: Recovered = { commits: [], handles: new Map() };
  await log.replay(async ({ place, payload }) => {
    const { record, dataOffset } = decodeRecord(payload);
    if (record.kind === "handle") {
      if (record.seq > facts.upSeq) recovered.handles.set(record.seq, record.handle);
      return;
    }
    const data = { segment: place.segment, offset: place.offset + dataOffset, length: place.length - dataOffset };
    const isIndexed = place.segment < facts.logSegment || (place.segment === facts.logSegment && place.offset < facts.logOffset);
    if (!isIndexed) {
      const { id, operation, wallNs, seq, change, result } = record;
      await meta.plan([{ id, operation, wallNs, replayed: { seq, change, result } }]);
      await meta.commit(new Map([[0, data]]), { segment: place.segment, offset: place.offset + place.length });
    }
    if (record.change !== undefined && record.seq > facts.upSeq && isOwn(record.operation)) {
      recovered.commits.push({ seq: record.seq, operation: record.operation, result: record.result, change: record.change, data });
    }
  });
  return recovered;
}

function isOwn(operation: { op: string }): operation is Operation {
  return !operation.op.startsWith("external") && operation.op !== "setRecipe";
}
