// Register of what moves between a drive and its server now, an entry a file. Whoever moves bytes adds to the numbers
// of its entry, no more; names, rates and times are worked out when somebody looks.
import { type Clock, SmoothedRate, type Timer } from "@runnel/shared/base";
import { COUNTED, type Counts, noCounts } from "./meter.ts";
import { type CountedTransfer, countsOf, type Elsewhere, lessCounts } from "./transfer-counts.ts";

export type Direction = "up" | "down";

/** A file on its way, as a person is shown it. */
export interface LiveTransfer {
  /** Names it until it ends. */
  id: number;
  direction: Direction;
  /** Path in the drive; of several files that come in one stream their folder's. */
  path: string;
  files: number;
  totalBytes: number;
  /** Bytes that are there, whatever way they came. */
  doneBytes: number;
  /** Bytes of those that did not have to cross the wire. */
  reusedBytes: number;
  /** Bytes of the content that move in a second, smoothed. */
  bytesPerSecond: number;
  /** Time left; null while it cannot be told. */
  leftMs: number | null;
  /** Machines, or "the server", without which it does not go on now. */
  waitsFor: string[];
}

export type TransferSubject = CountedTransfer["subject"] & {
  /** Path in the drive, or the node that has it. */
  file: string | number;
  totalBytes: number;
  files?: number;
  /** Number of the operation that it is part of. */
  n?: number;
};

/** A longer rest of the way is not worth telling. */
const LEFT_MS_MAX = 24 * 60 * 60_000;
/** A program that reads on asks again within this time: it is the same transfer. */
const LINGER_MS = 2_000;
const LINGERING_MAX = 256;

/** An entry of the register. Adding to it costs nothing worth measuring. */
export class Transfer implements CountedTransfer, Disposable {
  readonly id: number;
  readonly subject: TransferSubject;
  doneBytes = 0;
  movedBytes = 0;
  crossedBytes = 0;
  fromOldVersion = 0;
  fromOtherFile = 0;
  readonly fromElsewhere: Record<Elsewhere, number> = { colleague: 0, stick: 0, folder: 0 };
  savedByDifference = 0;
  savedByCompression = 0;
  hasSucceeded = false;
  readonly #rate: SmoothedRate;
  readonly #end: (transfer: Transfer) => void;

  constructor(id: number, subject: TransferSubject, nowMs: number, end: (transfer: Transfer) => void) {
    this.id = id;
    this.subject = subject;
    this.#rate = new SmoothedRate(nowMs);
    this.#end = end;
  }

  get reusedBytes(): number {
    return Math.max(0, this.doneBytes - this.movedBytes);
  }

  /** Begins another attempt, which sends from the start. */
  restarted(): void {
    this.doneBytes = this.movedBytes = 0;
    this.#rate.restart();
    this.fromOldVersion = this.fromOtherFile = this.savedByDifference = this.savedByCompression = 0;
  }

  /** All of the content up to this offset is there. */
  reached(offset: number): void {
    this.doneBytes = Math.min(this.subject.totalBytes, Math.max(this.doneBytes, offset));
  }

  /** Adds bytes of the content that are there now. */
  arrived(bytes: number): void {
    this.reached(this.doneBytes + bytes);
  }

  /** Data of the content moved in an attempt before this one. */
  passed(bytes: number): void {
    this.movedBytes += bytes;
  }

  /** Data of the content moved, `encodedBytes` long on the wire. */
  moved(rawBytes: number, encodedBytes: number, isDifference: boolean): void {
    this.movedBytes += rawBytes;
    this.crossedBytes += encodedBytes;
    if (isDifference) this.savedByDifference += rawBytes - encodedBytes;
    else this.savedByCompression += rawBytes - encodedBytes;
  }

  /** Something about the content crossed the wire: its descriptors. */
  crossed(bytes: number): void {
    this.crossedBytes += bytes;
  }

  reused(bytes: number, isOldVersion: boolean): void {
    if (isOldVersion) this.fromOldVersion += bytes;
    else this.fromOtherFile += bytes;
  }

  /** Bytes of the content came, but not from the server. */
  came(from: Elsewhere, bytes: number): void {
    this.fromElsewhere[from] += bytes;
  }

  succeeded(): void {
    this.hasSucceeded = true;
    this.doneBytes = this.subject.totalBytes;
  }

  /** Ends it; harmless when it has ended. */
  [Symbol.dispose](): void {
    this.#end(this);
  }

  /** Returns the rate of this time, smoothed. */
  bytesPerSecond(nowMs: number): number {
    this.#rate.sample(nowMs, this.movedBytes);
    return this.#rate.perSecond;
  }
}

/** Ids are never the same twice in a process: a view shows the transfers of all drives. */
let lastId = 0;

export interface TransfersDeps {
  clock: Clock;
  /** Returns the machines that the server waits for before it answers an operation, by its number. */
  waitingFor(): ReadonlyMap<number, readonly string[]>;
  isOnline(): boolean;
  pathOf(node: number): string;
  /** Called once for each, when it has ended, with what was counted since `takeCounts`. */
  ended(transfer: Transfer, counts: Counts): void;
}

interface Live {
  transfer: Transfer;
  /** Fetches of it that are under way. */
  users: number;
  /** Counts that were taken. */
  taken: Counts;
  /** Content of the cache that it fills. */
  content: number | undefined;
  idleSinceMs: number;
}

export class Transfers {
  readonly #deps: TransfersDeps;
  readonly #live = new Map<number, Live>();
  readonly #byContent = new Map<number, Live>();
  /** Fetched contents that nobody asks for just now; the one that has been so longest comes first. */
  readonly #idle = new Set<Live>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(deps: TransfersDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#live.size;
  }

  /** Enters a file that moves, until the entry is disposed of. */
  begin(subject: TransferSubject): Transfer {
    return this.#enter(subject, undefined).transfer;
  }

  /**
   * Enters a fetch of a content, `absentBytes` of which are not here; fetches that go on from one another are one
   * transfer. Ends with the disposal.
   */
  fetch(content: number, subject: TransferSubject, absentBytes: () => number): { transfer: Transfer } & Disposable {
    let live = this.#byContent.get(content);
    if (live === undefined) {
      live = this.#enter(subject, content);
      live.transfer.reached(subject.totalBytes - absentBytes());
    } else live.users++;
    this.#idle.delete(live);
    const mine = live;
    return { transfer: mine.transfer, [Symbol.dispose]: () => this.#rest(mine) };
  }

  /** Returns the path of a file that moves; "" where nobody knows one. */
  pathOf({ file }: TransferSubject): string {
    return typeof file === "string" ? file : this.#deps.pathOf(file);
  }

  /** Lists what moves now, the oldest first. */
  list(): LiveTransfer[] {
    const nowMs = this.#deps.clock.bootMs();
    const waiting = this.#live.size === 0 ? new Map<number, string[]>() : this.#deps.waitingFor();
    const shown: LiveTransfer[] = [];
    for (const { transfer, users } of this.#live.values()) {
      const bytesPerSecond = transfer.bytesPerSecond(nowMs);
      const { subject } = transfer;
      if (users > 0 || transfer.doneBytes < subject.totalBytes)
        shown.push(this.#show(transfer, bytesPerSecond, waiting));
    }
    return shown;
  }

  /** Hands over what was counted since the last call, for those that are still under way. */
  takeCounts(take: (transfer: Transfer, counts: Counts) => void): void {
    for (const live of this.#live.values()) {
      const counts = this.#countsSince(live);
      if (COUNTED.some((counted) => counts[counted] !== 0)) take(live.transfer, counts);
    }
  }

  /** Ends all, since the drive does; what is disposed of later changes nothing. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    for (const live of this.#live.values()) this.#leave(live);
  }

  #enter(subject: TransferSubject, content: number | undefined): Live {
    const id = ++lastId;
    const transfer = new Transfer(id, subject, this.#deps.clock.bootMs(), () => this.#leave(live));
    const live: Live = { transfer, users: 1, taken: noCounts(), content, idleSinceMs: 0 };
    if (this.#isClosed) return live;
    this.#live.set(id, live);
    if (content !== undefined) this.#byContent.set(content, live);
    return live;
  }

  #show(transfer: Transfer, bytesPerSecond: number, waiting: ReadonlyMap<number, readonly string[]>): LiveTransfer {
    const { id, subject, doneBytes, reusedBytes } = transfer;
    const { direction, totalBytes, files = 1, n } = subject;
    const leftMs = bytesPerSecond > 0 ? ((totalBytes - doneBytes) * 1000) / bytesPerSecond : Infinity;
    const others = n === undefined ? [] : (waiting.get(n) ?? []);
    return {
      id,
      direction,
      path: this.pathOf(subject),
      files,
      totalBytes,
      doneBytes,
      reusedBytes,
      bytesPerSecond: Math.round(bytesPerSecond),
      leftMs: leftMs <= LEFT_MS_MAX ? Math.round(leftMs) : null,
      waitsFor: this.#deps.isOnline() ? [...others] : ["the server"],
    };
  }

  #rest(live: Live): void {
    if (--live.users > 0 || !this.#live.has(live.transfer.id)) return;
    live.idleSinceMs = this.#deps.clock.bootMs();
    this.#idle.add(live);
    const [oldest] = this.#idle;
    if (this.#idle.size > LINGERING_MAX && oldest !== undefined) this.#leave(oldest);
    this.#arm();
  }

  #arm(): void {
    this.#timer ??= this.#deps.clock.after(LINGER_MS, () => {
      this.#timer = undefined;
      const untilMs = this.#deps.clock.bootMs() - LINGER_MS;
      for (const live of this.#idle) if (live.idleSinceMs <= untilMs) this.#leave(live);
      if (this.#idle.size > 0) this.#arm();
    });
  }

  #countsSince(live: Live): Counts {
    const counts = countsOf(live.transfer);
    const since = lessCounts(counts, live.taken);
    live.taken = counts;
    return since;
  }

  #leave(live: Live): void {
    const { transfer, content } = live;
    if (!this.#live.delete(transfer.id)) return;
    this.#idle.delete(live);
    if (content !== undefined) this.#byContent.delete(content);
    this.#deps.ended(transfer, this.#countsSince(live));
  }
}
