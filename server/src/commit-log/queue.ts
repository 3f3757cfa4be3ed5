// The one place where a volume changes. Operations that come together are decided together, made durable with one sync
// of the log, then indexed, then published: decide → log → index → apply and feed → acknowledgements → answer.
// Nothing overtakes.
import type { Change, Clock, Log, RecordPlace } from "@runnel/shared";
import { DESCRIPTOR_BYTES, ERROR_KINDS, RunnelError, isRunnelError, sleep } from "@runnel/shared";
import type { ErrorDetail, ErrorKind } from "@runnel/shared";
import type { Holder } from "../feed/holder.ts";
import type {
  ExternalOperation,
  MetaStore,
  Operation,
  OperationId,
  OperationResult,
  PlanRequest,
  Planned,
} from "../meta/meta-store.ts";
import { encodeRecord } from "./record.ts";
import type { CommitRecord } from "./record.ts";
import { fullDisk, logFailure } from "./free-space.ts";
import type { FreeSpace } from "./free-space.ts";

export interface Submission {
  operation: Operation | ExternalOperation;
  id: OperationId | undefined;
  /** New data of a write that goes into its log record. */
  data: Uint8Array;
  /** Holder that commits: it does not wait for its own acknowledgement. */
  holder: Holder | undefined;
}

/** Stands for what is in the queue, for those that are to be done only if it is. */
export interface Ticket {
  /** Reason for which it was not done. */
  refusal?: unknown;
}

/** Place in the queue that a submission is to have. */
export interface Placing {
  /** Submissions before it: it is refused as the first of them that is, and may be decided together with them. */
  after?: readonly Ticket[];
  /** Called at once with its own ticket. */
  queued?: ((ticket: Ticket) => void) | undefined;
}

export interface Committed {
  result: OperationResult;
  change: Change | undefined;
  isRepeated: boolean;
}

interface Waiting {
  ticket: Ticket;
  after: readonly Ticket[];
  resolve(planned: Planned): void;
  reject(error: unknown): void;
}

interface Queued extends Submission, Waiting {
  /** Tells of an external change whether it is superseded; asked when all that came before has been committed. */
  isSuperseded?: () => boolean;
}

/** Submissions that are one, found when their turn has come. */
interface Group extends Waiting {
  find(): Promise<readonly Submission[]>;
}

/** A commit that everybody sees. */
export interface Published extends Omit<Submission, "data"> {
  change: Change;
  result: OperationResult;
  /** Place of its log record's data. */
  data: RecordPlace | undefined;
}

/** A place between two records of the log. */
export interface LogEnd {
  segment: number;
  offset: number;
}

interface Prepared {
  /** Indexes of its commits in the batch. */
  indexes: readonly number[];
  commits: readonly CommitRecord[];
  bytes: Uint8Array;
  dataOffset: number;
}

/** A record that is in the log. */
interface Logged {
  commits: readonly CommitRecord[];
  data: RecordPlace;
  end: LogEnd;
}

/** NoSpace for whoever asked: it is in the log, and happens when the index has room for it. */
export class HappensLater extends RunnelError {}

const FULL_RETRY_MS = 1_000;
const NO_DATA = new Uint8Array(0);
/** The answer of what is not done. */
export const SUPERSEDED: Planned = {
  ok: true,
  result: { node: 0, seq: 0, version: 0, conflict: false },
  change: undefined,
  isRepeated: false,
};
const BATCH_MAX = 256;
/** A batch's records are in memory at once. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

export interface CommitQueueDeps {
  log: Log;
  meta: MetaStore;
  clock: Clock;
  space: FreeSpace;
  /** End of what the index has of the log, as the facts of the meta store say. */
  indexedTo: LogEnd;
  /** Called for changes in seq order, those that are one together, before their submissions resolve. */
  committed(published: readonly Published[]): void;
}

export class CommitQueue {
  readonly #deps: CommitQueueDeps;
  readonly #queue: (Queued | Group)[] = [];
  #running: Promise<void> | undefined;
  #failure: RunnelError | undefined;
  /** The log has records that the index cannot take for want of room. */
  #full: RunnelError | undefined;
  #isClosed = false;
  /** End of the index: behind the last record that it has, all of which is on stable storage. */
  #indexedTo: LogEnd;

  constructor(deps: CommitQueueDeps) {
    this.#deps = deps;
    this.#indexedTo = deps.indexedTo;
  }

  /**
   * Resolves when the commit is durable and indexed. @throws the planner's error, or NoSpace / Io of the log: then
   * nothing happened; HappensLater.
   */
  async submit(submission: Submission, placing?: Placing): Promise<Committed> {
    return committedOf(await this.#plan(submission, placing), submission.operation.op);
  }

  /**
   * Submits operations that are one: all happen or none, and nothing between them. Returns the last one's answer.
   * `find` is asked when nothing else is being committed. @throws as `submit`, and what `find` does.
   */
  async submitBatch(find: Group["find"], placing?: Placing): Promise<Committed> {
    return committedOf(await inQueue(placing, (waiting) => this.#enqueue({ ...waiting, find })), "commit");
  }

  /**
   * Submits external changes of one time, with an answer each. A change that is superseded when its turn has come is
   * not done.
   */
  submitAll(
    operations: readonly ExternalOperation[],
    isSuperseded: (operation: ExternalOperation) => boolean,
  ): Promise<Planned[]> {
    const whole = { id: undefined, data: NO_DATA, holder: undefined };
    return Promise.all(
      operations.map((operation) => this.#plan({ ...whole, operation, isSuperseded: () => isSuperseded(operation) })),
    );
  }

  /** Resolves when nothing is under way. What waits for room is left to the next start: it is in the log. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#running !== undefined) await this.#running;
  }

  #plan(submission: Submission & Pick<Queued, "isSuperseded">, placing?: Placing): Promise<Planned> {
    return inQueue(placing, (waiting) => this.#enqueue({ ...submission, ...waiting }));
  }

  #enqueue(queued: Queued | Group): void {
    const refusal = this.#failure ?? this.#full;
    if (refusal !== undefined) return queued.reject(refusal);
    this.#queue.push(queued);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // A turn of the loop, so that what arrived together goes together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const [first] = this.#queue;
      if (first !== undefined && isGroup(first)) {
        this.#queue.shift();
        if (isRefused(first)) continue;
        await this.#commitGroup(first).catch((error: unknown) => first.reject(error));
        continue;
      }
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      try {
        const planned = await this.#commit(batch, false, (error) => {
          // External changes are no one's request: they wait.
          for (const queued of batch) if (queued.id !== undefined) queued.reject(error);
        });
        for (const [index, queued] of batch.entries()) queued.resolve(planned[index] as Planned);
      } catch (error) {
        for (const queued of batch) queued.reject(error);
      }
    }
    this.#running = undefined;
  }

  async #commitGroup({ find, resolve, reject }: Group): Promise<void> {
    const last = (await this.#commit(await find(), true, reject)).at(-1);
    if (last?.ok === true) resolve(last);
  }

  #takeBatch(): Queued[] {
    let bytes = 0;
    const batch: Queued[] = [];
    for (const queued of this.#queue) {
      if (isGroup(queued)) break;
      // Superseded changes are known only when the commits before them are done.
      if (queued.isSuperseded !== undefined && batch.some(({ isSuperseded }) => isSuperseded === undefined)) break;
      bytes += queued.data.length + recipeBytes(queued.operation);
      if (batch.length > 0 && (bytes > BATCH_BYTES_MAX || batch.length >= BATCH_MAX)) break;
      batch.push(queued);
    }
    this.#queue.splice(0, batch.length);
    return batch.filter((queued) => {
      if (isRefused(queued)) return false;
      const isSuperseded = queued.isSuperseded?.() === true;
      if (isSuperseded) queued.resolve(SUPERSEDED);
      return !isSuperseded;
    });
  }

  /**
   * `isOne`: all happen or none; throws then the first refusal. `later` is told when there is no room in the index:
   * nobody waits until there is.
   */
  async #commit(
    batch: readonly Submission[],
    isOne: boolean,
    later: (error: HappensLater) => void,
  ): Promise<Planned[]> {
    if (this.#failure !== undefined) throw this.#failure;
    await this.#deps.space.ensure(batch.length, recordBytes(batch));
    const wallNs = this.#deps.clock.wallNs();
    const planned = await this.#deps.meta.plan(planRequests(batch, wallNs));
    const places = new Map<number, RecordPlace>();
    let end = this.#indexedTo;
    const logged: Logged[] = [];
    try {
      if (isOne) mustAllBe(planned, batch);
      const records = recordsOf(batch, planned, wallNs, isOne);
      const written = records.length === 0 ? [] : await this.#deps.log.append(records.map((record) => record.bytes));
      for (const [index, place] of written.entries()) {
        const record = records[index];
        if (record === undefined) continue;
        const { segment, offset, length } = place;
        const data = { segment, offset: offset + record.dataOffset, length: length - record.dataOffset };
        for (const each of record.indexes) places.set(each, data);
        // This is not the end of the log: what others wrote behind it may not be on stable storage yet, and may be gone
        // after a crash.
        end = { segment, offset: offset + length };
        logged.push({ commits: record.commits, data, end });
      }
    } catch (error) {
      await this.#deps.meta.rollback();
      throw logFailure(error);
    }
    try {
      await this.#deps.meta.commit(places, end).catch((error: unknown) => this.#indexLate(logged, error, later));
    } catch (error) {
      // The log has it, the index does not: going on would give the same seq twice. A restart rolls the log forward.
      this.#failure = new RunnelError("Io", "commit", "The volume's index cannot be written: restart the server.", {
        cause: error,
      });
      throw this.#failure;
    }
    this.#indexedTo = end;
    const published: Published[] = [];
    for (const [index, submission] of batch.entries()) {
      const plan = planned[index];
      if (plan?.ok !== true || plan.change === undefined || plan.isRepeated) continue;
      const { change, result, operation = submission.operation } = plan;
      published.push({ ...submission, operation, change, result, data: places.get(index) });
    }
    if (isOne && published.length > 0) this.#deps.committed(published);
    else for (const one of published) this.#deps.committed([one]);
    return planned;
  }

  /**
   * The index had no room for what is in the log: it is rolled forward, as at a start, once there is some. Until then
   * nothing else is taken.
   */
  async #indexLate(logged: readonly Logged[], error: unknown, later: (error: HappensLater) => void): Promise<void> {
    if (!isRunnelError(error, "NoSpace")) throw error;
    this.#full = fullDisk(error);
    later(new HappensLater(this.#full.kind, this.#full.operation, this.#full.message, { cause: error }));
    for (const queued of this.#queue.splice(0)) queued.reject(this.#full);
    let done = 0;
    while (done < logged.length) {
      if (this.#isClosed) throw error;
      await sleep(this.#deps.clock, FULL_RETRY_MS);
      try {
        for (const one of logged.slice(done)) {
          await indexAgain(this.#deps.meta, one);
          done++;
        }
      } catch (again) {
        if (!isRunnelError(again, "NoSpace")) throw again;
      }
    }
    this.#full = undefined;
  }
}

/** Makes the promise of what waits in the queue, whose ticket tells how that ended. */
function inQueue({ after = [], queued }: Placing = {}, enqueue: (waiting: Waiting) => void): Promise<Planned> {
  return new Promise((resolve, reject) => {
    const ticket: Ticket = {};
    enqueue({
      ticket,
      after,
      resolve: (planned) => {
        if (!planned.ok) ticket.refusal = rebuildError(planned.error, "commit");
        resolve(planned);
      },
      reject: (error) => {
        ticket.refusal = error;
        reject(error);
      },
    });
    queued?.(ticket);
  });
}

/** @throws what it was refused with. */
function committedOf(planned: Planned, operation: string): Committed {
  if (!planned.ok) throw rebuildError(planned.error, operation);
  return planned;
}

/** Refuses what comes after something that was refused. */
function isRefused({ after, reject }: Waiting): boolean {
  const refused = after.find(({ refusal }) => refusal !== undefined);
  if (refused !== undefined) reject(refused.refusal);
  return refused !== undefined;
}

function planRequests(batch: readonly (Submission & Partial<Queued>)[], wallNs: bigint): PlanRequest[] {
  const indexes = new Map(batch.map(({ ticket }, index) => [ticket, index]));
  return batch.map(({ id, operation, holder, after = [] }) => {
    const owner = holder?.nodeOwner;
    // The others have been done.
    const together = after.map((ticket) => indexes.get(ticket)).filter((index) => index !== undefined);
    return { id, operation, wallNs, ...(owner && { owner }), ...(together.length === 0 ? {} : { after: together }) };
  });
}

/** Whatever changed the tree is logged; what did not (repetitions, refusals, recipes computed anew) is not. */
function recordsOf(
  batch: readonly Submission[],
  planned: readonly Planned[],
  wallNs: bigint,
  isOne: boolean,
): Prepared[] {
  const records: Prepared[] = [];
  const commits: CommitRecord[] = [];
  const indexes: number[] = [];
  for (const [index, { operation: asked, id, data }] of batch.entries()) {
    const plan = planned[index];
    if (plan === undefined || !plan.ok || plan.isRepeated || asked.op === "setRecipe") continue;
    // A result without a change (a folder that was there) is kept too: a repetition must get the same answer.
    if (plan.change === undefined && id === undefined) continue;
    const { change, result, paths, operation = asked } = plan;
    const commit: CommitRecord = { kind: "commit", seq: result.seq, wallNs, id, operation, change, result, paths };
    commits.push(commit);
    indexes.push(index);
    if (!isOne) records.push({ indexes: [index], commits: [commit], ...encodeRecord(commit, data) });
  }
  if (!isOne || commits.length === 0) return records;
  const { seq } = commits.at(-1) as CommitRecord;
  return [{ indexes, commits, ...encodeRecord({ kind: "together", seq, commits }) }];
}

/** Takes commits into the index that the log has already. */
export async function indexAgain(meta: MetaStore, { commits, data, end }: Logged): Promise<void> {
  await meta.plan(
    commits.map(({ id, operation, wallNs, seq, change, result }) => {
      return { id, operation, wallNs, replayed: { seq, change, result } };
    }),
  );
  await meta.commit(new Map([[0, data]]), end);
}

function isGroup(queued: Queued | Group): queued is Group {
  return "find" in queued;
}

/** @throws the first refusal. */
function mustAllBe(planned: readonly Planned[], batch: readonly Submission[]): void {
  const index = planned.findIndex(({ ok }) => !ok);
  const refused = planned[index];
  if (refused?.ok === false) throw rebuildError(refused.error, batch[index]?.operation.op ?? "commit");
}

function recordBytes(batch: readonly Submission[]): number {
  return batch.reduce((sum, { data, operation }) => sum + data.length + recipeBytes(operation), 0);
}

function recipeBytes(operation: Operation | ExternalOperation): number {
  if (operation.op !== "write") return 0;
  return DESCRIPTOR_BYTES * (operation.content.recipe?.lengths.length ?? 0);
}

function rebuildError(error: { kind: string; message: string; detail: object }, operation: string): RunnelError {
  const kind = ERROR_KINDS.includes(error.kind as ErrorKind) ? (error.kind as ErrorKind) : "Io";
  return new RunnelError(kind, operation, error.message, { detail: error.detail as ErrorDetail });
}
