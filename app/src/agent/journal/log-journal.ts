// The journal over the shared log. Rounds run one after another: each brings the data of all unsynced commits to stable
// storage, then says so in the log, then removes the files of what is done. Numbers, renewals and rotations take their
// turn between rounds.
import { systemBoot } from "@runnel/native";
import { randomBytes } from "node:crypto";
import type { Clock, DiskRoot, Executor, Log, Timer } from "@runnel/shared";
import { RunnelError, fromSystemError, isRunnelError, openLog } from "@runnel/shared";
import { DataFolder, isHeld } from "./data-folder.ts";
import type { Journal, JournalCommit, JournalOperation, ReservedNodes } from "./journal.ts";
import { JournalState, type PendingCommit } from "./journal-state.ts";
import type { JournalRecord, OperationName } from "./records.ts";
import { JOURNAL_FORMAT, dataFileName, decodeJournalRecord, encodeJournalRecord } from "./records.ts";

export interface JournalOptions {
  root: DiskRoot;
  /** Folder of the journal in the root; "" is the root itself. Made if missing. */
  folder: string;
  clock: Clock;
  executor: Executor;
  /** The system's current boot; "" = unknown. */
  boot?: string;
  /** 32 hexadecimal digits, never the same twice. */
  newInstance?: () => string;
}

/** W24: 0 is what "received" says when nothing has arrived. */
const NUMBER_FIRST = 1;
/** Numbers reserved ahead: four times what a drive may answer by itself, so that none has to wait for a reservation. */
const NUMBERS_AHEAD = 65_536;
/** Half of the second after which a power cut takes nothing that was put. */
const ROUND_DELAY_MS = 500;
/** Numbers reported at the most while nothing can be brought to disk: the server keeps some thousands of results. */
const ENDING_MAX = 1024;
const SEGMENT_BYTES = 4 * 1024 * 1024;
/** Ids, with digests, in one onDisk record. */
const IDS_PER_RECORD = 4096;

interface Waiting {
  commit: JournalCommit;
  replaces: readonly JournalCommit[];
  resolve: () => void;
  reject: (error: RunnelError) => void;
}

/**
 * Opens or makes a journal. One process at a time. @throws RunnelError Version when a newer program wrote it, Corrupt
 * when its log is damaged (never skipped: it is the only copy), Io, NoSpace.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { root, folder, boot = systemBoot() } = options;
  const within = (name: string): string => (folder === "" ? name : `${folder}/${name}`);
  const data = new DataFolder(root, within("data"), options.executor);
  await data.make();
  const { log, tornBytes } = await openLog(root, within("log"), JOURNAL_FORMAT);
  try {
    const state = new JournalState();
    await log.replay(({ payload, place }) => void state.take(decodeJournalRecord(payload), place));
    const sizes = await data.sizes();
    for (const entry of state.entries()) {
      const wasKept = entry.unsyncedIn === "" || (boot !== "" && entry.unsyncedIn === boot);
      entry.isUnverified = !wasKept || !isHeld(entry.commit, sizes);
      // Keeps what it was to take the place of: that is all that there is.
      if (entry.isUnverified) entry.replaces = [];
    }
    const dataFolder = `${root.path}/${within("data")}`;
    const journal = new LogJournal({ ...options, boot, log, data, state }, dataFolder, tornBytes);
    await journal.begin();
    return journal;
  } catch (error) {
    await log.close();
    throw error;
  }
}

interface LogJournalDeps extends Pick<JournalOptions, "clock" | "newInstance"> {
  boot: string;
  log: Log;
  data: DataFolder;
  state: JournalState;
}

class LogJournal implements Journal {
  readonly dataFolder: string;
  readonly tornBytes: number;
  readonly #deps: LogJournalDeps;
  /** The next number to give. */
  #next = 0;
  #isReserving = false;
  /** Files of done commits whose record is not yet known to be on stable storage. */
  #removable: string[] = [];
  /** Done, but not yet on stable storage that they are; the oldest first. */
  #ending: OperationName[] = [];
  /** Done, but the log had no space to say so. */
  readonly #undone: OperationName[] = [];
  #waiting: Waiting[] = [];
  /** Puts on their way to the log, by the number of what they record. */
  readonly #putting = new Map<number, Promise<unknown>>();
  #turns: Promise<unknown> = Promise.resolve();
  #nextRound: Promise<void> | undefined;
  #timer: Timer | undefined;
  #problem: RunnelError | undefined;
  #closing: Promise<void> | undefined;

  constructor(deps: LogJournalDeps, dataFolder: string, tornBytes: number) {
    this.#deps = deps;
    this.dataFolder = dataFolder;
    this.tornBytes = tornBytes;
  }

  get instance(): string {
    return this.#deps.state.instance;
  }

  /** Reserves the first numbers of this process: all that former ones reserved may have been given. */
  async begin(): Promise<void> {
    const instance = this.#deps.state.instance === "" ? this.#newInstance() : this.#deps.state.instance;
    this.#next = Math.max(NUMBER_FIRST, this.#deps.state.below);
    await this.#reserveFor(instance);
    // No program has an id of a former process.
    this.#deps.state.dropUnnamed();
    await this.#dropSegments();
    if (this.#unsynced().length > 0) this.#arm();
  }

  get numbersLeft(): number {
    return this.#deps.state.below - this.#next;
  }

  nextNumber(): number {
    this.#assertOpen("number an operation");
    if (this.#deps.state.below - this.#next < NUMBERS_AHEAD / 2) this.#reserve();
    if (this.#next >= this.#deps.state.below) {
      const sentence = "Operations are begun faster than the journal can number them.";
      throw new RunnelError("Busy", "number an operation", sentence, {
        detail: { retryAfterMs: 100 },
        cause: this.#problem,
      });
    }
    return this.#next++;
  }

  get reservedNodes(): ReservedNodes | undefined {
    return this.#deps.state.nodes;
  }

  async reserveNodes(nodes: ReservedNodes): Promise<void> {
    this.#assertOpen("reserve node ids");
    await this.#inTurn(() => this.#append([{ kind: "nodes", ...nodes }]));
  }

  async renew(): Promise<void> {
    this.#assertOpen("renew journal");
    const instance = this.#newInstance();
    // Numbers go on: one taken while this is being written is unlike all later ones.
    await this.#inTurn(() => this.#reserveFor(instance));
  }

  async put(commit: JournalCommit, isDurable: boolean, replaces: readonly JournalCommit[] = []): Promise<void> {
    this.#assertOpen("record a save");
    for (const { file } of commit.layers) {
      if (!dataFileName.safeParse(file).success) throw new TypeError(`Not the name of a data file: ${file}`);
    }
    if (isDurable) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ commit, replaces, resolve, reject });
        this.#round().catch(reject);
      });
      return;
    }
    for (const { instance, n } of replaces) this.#ends({ instance, n });
    const unsyncedIn = this.#deps.boot || "unknown";
    await this.#write({ kind: "commit", unsyncedIn, ...namesOf(replaces), commit }, commit.n);
  }

  async putOperation(operation: JournalOperation): Promise<void> {
    this.#assertOpen("record a change");
    await this.#write({ kind: "operation", operation }, operation.n);
  }

  /** Writes a record; what is done with its number, or is to be safe, before this has ended waits for it. */
  async #write(record: JournalRecord, n: number): Promise<void> {
    const writing = this.#deps.log.write([encodeJournalRecord(record)]).then(([place]) => {
      if (place !== undefined) this.#removable.push(...this.#deps.state.take(record, place));
    });
    this.#putting.set(n, writing);
    try {
      await writing;
    } finally {
      this.#putting.delete(n);
    }
    this.#arm();
  }

  async bind(epoch: string, node: number, other: number): Promise<void> {
    this.#assertOpen("record a change");
    const record: JournalRecord = { kind: "bound", epoch, node, other };
    const [place] = await this.#deps.log.write([encodeJournalRecord(record)]);
    if (place !== undefined) this.#deps.state.take(record, place);
    this.#arm();
  }

  bound(epoch: string): ReadonlyMap<number, number> {
    return this.#deps.state.bound(epoch);
  }

  async sync(): Promise<void> {
    this.#assertOpen("write journal");
    await Promise.allSettled(this.#putting.values());
    await this.#round();
  }

  async done(instance: string, n: number): Promise<void> {
    this.#assertOpen("end a save");
    try {
      await this.#end({ instance, n });
    } catch (error) {
      // On a full disk what is done is ended when there is space: its files are what takes it.
      if (!isRunnelError(error, "NoSpace")) throw error;
      this.#undone.push({ instance, n });
    }
    this.#arm();
  }

  async #end({ instance, n }: OperationName): Promise<void> {
    await this.#putting.get(n)?.catch(() => undefined);
    if (!this.#deps.state.has({ instance, n })) return;
    this.#ends({ instance, n });
    await this.#deps.log.write([encodeJournalRecord({ kind: "done", instance, n })]);
    this.#removable.push(...this.#deps.state.remove({ instance, n }));
  }

  *ending(): Generator<number> {
    for (const { instance, n } of this.#ending) if (instance === this.instance) yield n;
  }

  #ends(id: OperationName): void {
    this.#ending.push(id);
    if (this.#ending.length > ENDING_MAX) this.#ending.shift();
  }

  names(file: string): boolean {
    return this.#deps.state.names(file);
  }

  onRemoving(isRead: (file: string) => boolean): void {
    this.#deps.data.isRead = isRead;
  }

  async discard(files: readonly string[]): Promise<void> {
    this.#assertOpen("discard a save");
    for (const file of files) if (!this.#deps.state.names(file)) await this.#deps.data.remove(file);
  }

  operations(): JournalOperation[] {
    this.#assertOpen("read journal");
    return this.#deps.state.operations();
  }

  pending(): JournalCommit[] {
    this.#assertOpen("read journal");
    return this.#commits((entry) => !entry.isUnverified);
  }

  unverified(): JournalCommit[] {
    this.#assertOpen("read journal");
    return this.#commits((entry) => entry.isUnverified);
  }

  async verify(commit: JournalCommit): Promise<boolean> {
    this.#assertOpen("verify a save");
    const entry = this.#deps.state.get(commit);
    if (entry?.digest === undefined) return true;
    const found = await this.#deps.data.digest(commit);
    if (found !== undefined && Buffer.compare(found, entry.digest) === 0) return true;
    entry.isUnverified = true;
    return false;
  }

  problem(): RunnelError | undefined {
    return this.#problem;
  }

  async sweep(kept: ReadonlySet<string> = new Set()): Promise<void> {
    this.#assertOpen("sweep journal");
    const waiting = new Set([...kept, ...this.#removable]);
    for (const file of (await this.#deps.data.sizes()).keys()) {
      if (!this.#deps.state.names(file) && !waiting.has(file)) await this.#deps.data.remove(file);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    try {
      await this.#round();
    } finally {
      await this.#turns;
      await this.#deps.log.close();
    }
  }

  /** Runs a round that covers all that was put before this call; calls made before it begins share it. */
  #round(): Promise<void> {
    this.#nextRound ??= this.#inTurn(async () => {
      this.#nextRound = undefined;
      const waiting = this.#waiting.splice(0);
      try {
        await this.#bringToDisk(waiting);
        this.#problem = undefined;
      } catch (error) {
        this.#problem = fromSystemError(error, "write journal");
        if (this.#undone.length > 0) this.#arm();
        for (const { reject } of waiting) reject(this.#problem);
        throw this.#problem;
      }
    });
    return this.#nextRound;
  }

  async #bringToDisk(waiting: readonly Waiting[]): Promise<void> {
    for (let id = this.#undone[0]; id !== undefined; id = this.#undone[0]) {
      await this.#end(id);
      this.#undone.shift();
    }
    const removable = this.#removable.splice(0);
    const ending = new Set(this.#ending);
    try {
      const unsynced = this.#unsynced();
      const commits = [...unsynced, ...waiting].map(({ commit }) => commit);
      const digests = await this.#deps.data.bringToDisk(commits);
      if (commits.length > 0) await this.#deps.data.syncNames();
      const ids: (OperationName & { digest: Uint8Array })[] = [];
      for (const { commit } of unsynced) {
        const digest = digests.get(commit);
        if (digest !== undefined) ids.push({ instance: commit.instance, n: commit.n, digest });
      }
      const kept = new Map<Waiting, Uint8Array>();
      for (const one of waiting) {
        const digest = digests.get(one.commit);
        if (digest !== undefined) kept.set(one, digest);
      }
      const records: JournalRecord[] = [];
      while (ids.length > 0) records.push({ kind: "onDisk", ids: ids.splice(0, IDS_PER_RECORD) });
      for (const [{ commit, replaces }, digest] of kept)
        records.push({ kind: "commit", unsyncedIn: "", digest, ...namesOf(replaces), commit });
      await this.#append(records);
      this.#ending = this.#ending.filter((id) => !ending.has(id));
      for (const one of waiting) {
        if (kept.has(one)) one.resolve();
        else
          one.reject(new RunnelError("NotFound", "record a save", "The bytes of a save are not where they should be."));
      }
    } catch (error) {
      this.#removable.unshift(...removable);
      throw error;
    }
    for (const file of removable) if (!this.#deps.state.names(file)) await this.#deps.data.remove(file);
    if (this.#deps.log.current.sizeBytes > SEGMENT_BYTES) await this.#rotate();
    if (removable.length > 0) await this.#dropSegments();
    if (this.#removable.length > 0) this.#arm();
  }

  /** The new segment says anew what the dropped ones said of numbers and nodes. */
  async #rotate(): Promise<void> {
    await this.#deps.log.rotate();
    const { instance, below, nodes } = this.#deps.state;
    await this.#append([
      { kind: "numbers", instance, below },
      ...this.#deps.state.boundAnew(),
      ...(nodes === undefined ? [] : [{ kind: "nodes" as const, ...nodes }]),
    ]);
    await this.#dropSegments();
  }

  async #dropSegments(): Promise<void> {
    await this.#deps.log.dropBefore(this.#deps.state.oldestSegment() ?? this.#deps.log.current.segment);
  }

  /** Appends, with all that was written before, to stable storage; then takes the records in. */
  async #append(records: readonly JournalRecord[]): Promise<void> {
    if (records.length === 0) return this.#deps.log.sync();
    const places = await this.#deps.log.append(records.map(encodeJournalRecord));
    for (const [index, place] of places.entries())
      this.#removable.push(...this.#deps.state.take(records[index] as JournalRecord, place));
  }

  #commits(isMeant: (entry: PendingCommit) => boolean): JournalCommit[] {
    return this.#deps.state.current().flatMap((entry) => (isMeant(entry) ? [entry.commit] : []));
  }

  #unsynced() {
    return this.#deps.state.entries().filter(({ unsyncedIn, isUnverified }) => unsyncedIn !== "" && !isUnverified);
  }

  #reserveFor(instance: string): Promise<void> {
    return this.#append([{ kind: "numbers", instance, below: this.#next + NUMBERS_AHEAD }]);
  }

  #reserve(): void {
    if (this.#isReserving) return;
    this.#isReserving = true;
    void this.#inTurn(() => this.#reserveFor(this.instance))
      .catch((error: unknown) => {
        this.#problem = fromSystemError(error, "number an operation");
      })
      .finally(() => {
        this.#isReserving = false;
      });
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#closing !== undefined) return;
    this.#timer = this.#deps.clock.after(ROUND_DELAY_MS, () => {
      this.#timer = undefined;
      // The failure is kept as the problem and shown; the next put or done tries again.
      if (this.#closing === undefined) this.#round().catch(() => {});
    });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(act);
    this.#turns = turn.catch(() => {});
    return turn;
  }

  #newInstance(): string {
    return (this.#deps.newInstance ?? (() => randomBytes(16).toString("hex")))();
  }

  #assertOpen(operation: string): void {
    if (this.#closing === undefined) return;
    throw new RunnelError("Interrupted", operation, "The journal has been closed.");
  }
}

function namesOf(commits: readonly JournalCommit[]): { replaces?: OperationName[] } {
  return commits.length === 0 ? {} : { replaces: commits.map(({ instance, n }) => ({ instance, n })) };
}
