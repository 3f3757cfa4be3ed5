// Changes that programs were told of before the server, on their way to it: in the order in which they were made, many
// at a time. Each is executed after the one before it, a large content apart, which holds up only what depends on it. A
// broken line, or a refusal, sends what comes after it again.
import type { Clock, Timer } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Making } from "../transfer/send-content.ts";
import type { Turn } from "../transfer/upload.ts";
import { dirtyBytes } from "../journal/journal.ts";
import { isReadAtOnce } from "../transfer/compose.ts";
import { HeldChanges } from "./held-changes.ts";
import { ProgramsFirst } from "./programs-first.ts";
import { type Queued, type Save, type TreeChange, isFollowing, isSave } from "./own-change.ts";

export interface OutboxDeps {
  clock: Clock;
  isConnected(): boolean;
  /** Says that it is of something that a person has paused. */
  isPaused(queued: Queued): boolean;
  /** Says that a program waits for room. */
  lacksRoom(): boolean;
  /** Sends a change of names or attributes after others. @throws what it is refused with, or the line's error. */
  sendChange(change: TreeChange, after: readonly number[]): Promise<void>;
  /** Says that nobody else can have changed its file since it was recorded. */
  isCertain(save: Save): boolean;
  /** Makes one attempt at a content. What it fails with is the save's. */
  sendSave(save: Save, making: Making | undefined, turn: Turn): Promise<void>;
  /** Called when something has gone from here, or waits for the end of a pause. */
  lessened(): void;
  /** Called when the server has no room for something. */
  lacksSpace(error: RunnelError): void;
  /** The server has refused it, and asking again would not help. */
  refused(change: TreeChange, error: RunnelError): Promise<void>;
}

interface Sending {
  queued: Queued;
  /** Number of it when it was sent: a save that is planned anew has another one. */
  n: number;
  /** Changes under way that it is executed after. */
  before: readonly Sending[];
  /** A content that has files open until it has been sent. */
  hasFilesOpen: boolean;
  /** The server has been asked for it: what is asked now comes after it. */
  isOpen: boolean;
  opened: PromiseWithResolvers<void>;
  hasFailed: boolean;
  ended: Promise<void>;
}

const CHANGES_UNDER_WAY_MAX = 256;
const SAVES_UNDER_WAY_MAX = 256;
/** Contents that have files open meanwhile, which are among them. */
const OPEN_SAVES_UNDER_WAY_MAX = 32;
/** Size from which on a content holds up only what depends on it. */
const LARGE_BYTES = 1024 * 1024;
/** Time for which a content is not sent whose file a program still has open: it is likely to be saved again. */
const LINGER_MS = 300;
/** Changes, and bytes of contents, of which no more wait for programs: the line is not to wait for them. */
const GIVES_WAY_CHANGES_MAX = 2_000;
const GIVES_WAY_BYTES_MAX = 4 * 1024 * 1024;
/** Interval at which what a connected server refused for a while is tried again. */
const AGAIN_MS = 2_000;
const PASSING = ["Unreachable", "Interrupted", "Unavailable", "Busy", "NoSpace", "Quota"] as const;

export class Outbox {
  readonly #deps: OutboxDeps;
  /** Ordered by their numbers, behind conflict copies, which depend on nothing. */
  #waiting: Queued[] = [];
  /** Changes of what is paused, and what depends on them. */
  readonly #held = new HeldChanges();
  readonly #sending = new Map<number, Sending>();
  /** Contents among them that hold up only what depends on them. */
  readonly #apart = new Map<Sending, Save>();
  /** Each with the bytes of its content. */
  readonly #all = new Map<Queued, number>();
  #bytes = 0;
  /** Numbers of the changes under way that make nodes, by node. */
  readonly #makes = new Map<number, number>();
  /** Changes that programs are being answered for, and that come here next: each with when it has. */
  readonly #expected = new Set<PromiseWithResolvers<void>>();
  /** Changes that somebody waits for, as far as they are still to be sent. */
  readonly #waiters = new Set<{ left: Set<Queued>; sent: PromiseWithResolvers<void> }>();
  /** Count of those who are to be among them. */
  #asking = 0;
  #savesUnderWay = 0;
  /** Contents that have files open, which are among them. */
  #openSavesUnderWay = 0;
  /** Times until which contents of open files wait, on the boot clock. */
  readonly #lingering = new WeakMap<Save, number>();
  /** The last one under way of those that are executed one after another. */
  #tail: Sending | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  #timer: Timer | undefined;
  readonly #programs: ProgramsFirst;
  /** Something was refused for a while, or the line broke: what comes after it waits too. */
  #isStalled = false;
  #isClosed = false;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#programs = new ProgramsFirst(deps.clock, () => this.pump());
  }

  get size(): number {
    return this.#all.size + this.#expected.size;
  }

  /** Nothing is to be sent now: what waits is paused. */
  get isIdle(): boolean {
    return this.size === this.#held.size;
  }

  has(queued: Queued): boolean {
    return this.#all.has(queued);
  }

  /** It waits for the end of a pause. */
  holds({ n }: Queued): boolean {
    return this.#held.has(n);
  }

  /** A content is on its way that may take long, and changes behind it wait for it at the server. */
  get hasLongUnderWay(): boolean {
    return this.#apart.size > 0;
  }

  /** Bytes of the contents that wait here, or are being sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Something is about to be added: it is not idle before that has been sent, or the disposal without it. */
  expect(): Disposable {
    const expected = Promise.withResolvers<void>();
    this.#expected.add(expected);
    return {
      [Symbol.dispose]: () => {
        this.#expected.delete(expected);
        expected.resolve();
        this.#deps.lessened();
        this.#mayBeIdle();
      },
    };
  }

  add(...queued: readonly Queued[]): void {
    for (const each of queued) {
      const bytes = isSave(each) ? dirtyBytes(each.record) : 0;
      this.#all.set(each, bytes);
      this.#bytes += bytes;
    }
    this.#waiting.push(...queued);
    this.#sort(queued.length);
    this.pump();
  }

  /** Forgets contents whose place another one has taken: without a line nothing else comes by. */
  replaced(saves: readonly Save[]): void {
    for (const save of saves) {
      const at = save.state === "settled" ? this.#waiting.lastIndexOf(save) : -1;
      if (at < 0) continue;
      this.#waiting.splice(at, 1);
      this.#remove(save);
    }
    this.#mayBeIdle();
  }

  /**
   * Resolves when nothing waits here but for what is paused; not before the line is back. @throws what the server has
   * no room for.
   */
  async idle(): Promise<void> {
    if (this.isIdle) return;
    if (this.#idle === undefined) {
      this.#idle = Promise.withResolvers<void>();
      this.#idle.promise.catch(() => undefined);
      this.pump();
    }
    await this.#idle.promise;
  }

  /**
   * Resolves when all that is here now, or expected, and of which this holds, has been sent but for what is paused:
   * with all that it comes after. @throws as idle.
   */
  async sent(isMeant: (queued: Queued) => boolean): Promise<void> {
    this.#asking++;
    this.pump();
    await Promise.all([...this.#expected].map(({ promise }) => promise));
    this.#asking--;
    const left = new Set([...this.#all.keys()].filter((queued) => !this.#held.has(queued.n) && isMeant(queued)));
    if (left.size === 0) return;
    const waiter = { left, sent: Promise.withResolvers<void>() };
    this.#waiters.add(waiter);
    this.pump();
    await waiter.sent.promise;
  }

  /** Says whether something of which this holds is to be sent, or waits for the end of a pause. */
  some(isMeant: (queued: Queued) => boolean): boolean {
    return this.#all.keys().some(isMeant);
  }

  /** Ends the waiting for it. */
  #waitsNoMore(queued: Queued): void {
    for (const waiter of this.#waiters) {
      waiter.left.delete(queued);
      if (waiter.left.size > 0) continue;
      this.#waiters.delete(waiter);
      waiter.sent.resolve();
    }
  }

  #failWaiters(error: RunnelError): void {
    this.#idle?.reject(error);
    this.#idle = undefined;
    for (const { sent } of this.#waiters) sent.reject(error);
    this.#waiters.clear();
  }

  /** A program asks for something: what nobody waits for gives way. */
  programAsks(): void {
    this.#programs.asked();
  }

  get #isAwaited(): boolean {
    return this.#idle !== undefined || this.#waiters.size > 0 || this.#asking > 0;
  }

  /** The line is there again. */
  resume(): void {
    this.#isStalled = false;
    this.pump();
  }

  /** Other things are paused than before. */
  pausesChanged(): void {
    this.#release();
    this.pump();
  }

  /** Puts what was held back to the rest, in its place. */
  #release(): void {
    const held = this.#held.takeAll();
    if (held.length > 0) this.#waiting = [...held, ...this.#waiting].toSorted(inOrder);
  }

  /** Sends what may be sent. */
  pump(): void {
    if (this.#isClosed) return;
    if (this.#held.haveEnded) this.#release();
    if (this.#isStalled || !this.#deps.isConnected()) return;
    const heldBefore = this.#held.size;
    let taken = 0;
    const passed: Save[] = [];
    for (const queued of this.#waiting) {
      if (queued.state === "settled") this.#remove(queued);
      else if (this.#deps.isPaused(queued) || this.#held.areBefore(queued)) this.#hold(queued);
      else if (this.#mayPass(queued)) passed.push(queued);
      else if (concerns(queued, passed) || !this.#start(queued)) break;
      taken++;
    }
    this.#waiting.splice(0, taken, ...passed);
    if (this.#waiting.length === 0) this.#programs.caughtUp();
    if (this.#held.size > heldBefore) this.#deps.lessened();
    this.#mayBeIdle();
  }

  #hold(queued: Queued): void {
    this.#held.add(queued);
    this.#waitsNoMore(queued);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#programs.close();
  }

  /** Says whether it waits for a large content on its way, which later changes need not wait for. */
  #mayPass(queued: Queued): queued is Save {
    if (!isSave(queued) || queued.follows === undefined || !isFollowing(queued)) return false;
    const sending = this.#sending.get(queued.follows.n);
    return sending !== undefined && this.#apart.has(sending);
  }

  /** @returns false when it has to wait. */
  #start(queued: Queued): boolean {
    if (isSave(queued) && isFollowing(queued)) return false;
    if ((isSave(queued) && this.#lingers(queued)) || this.#givesWay()) return false;
    // Later ones have been sent already, and fail as it did.
    if (this.#tail !== undefined && this.#tail.queued.n > queued.n) return false;
    return isSave(queued) ? this.#startSave(queued) : this.#startChange(queued);
  }

  #givesWay(): boolean {
    if (this.#isAwaited || this.#deps.lacksRoom()) return false;
    const isMuch = this.#waiting.length >= GIVES_WAY_CHANGES_MAX || this.#bytes >= GIVES_WAY_BYTES_MAX;
    return !isMuch && this.#programs.haveTheirTurn();
  }

  #startSave(save: Save): boolean {
    const hasFilesOpen = !isReadAtOnce(save.record);
    const isFull = hasFilesOpen && this.#openSavesUnderWay >= OPEN_SAVES_UNDER_WAY_MAX;
    if (isFull || this.#savesUnderWay >= SAVES_UNDER_WAY_MAX) return false;
    const isCertain = !isCopy(save) && this.#deps.isCertain(save);
    const before = isCertain && this.#tail !== undefined ? [this.#tail] : [];
    const isApart = !isCertain || save.record.sizeBytes > LARGE_BYTES;
    const sending = this.#add(save, before, hasFilesOpen);
    this.#savesUnderWay++;
    if (hasFilesOpen) this.#openSavesUnderWay++;
    const turn: Turn = {
      after: before.map(({ queued }) => queued.n),
      comes: Promise.all(before.map(({ opened }) => opened.promise)),
      opened: () => this.#opened(sending),
    };
    if (isApart) this.#apart.set(sending, save);
    else this.#tail = sending;
    this.#follow(sending, this.#deps.sendSave(save, this.making(save.record.node), turn));
    return true;
  }

  /** Says whether it is not sent yet, since its file is open and nobody waits. */
  #lingers(save: Save): boolean {
    if (save.file === 0 || this.#isAwaited) return false;
    const { clock } = this.#deps;
    const until = this.#lingering.get(save);
    if (until !== undefined) return until > clock.bootMs();
    this.#lingering.set(save, clock.bootMs() + LINGER_MS);
    clock.after(LINGER_MS, () => this.pump());
    return true;
  }

  #startChange(change: TreeChange): boolean {
    const apart = [...this.#apart]
      .filter(([, { node, record }]) => [node, record.node].some((each) => change.nodes.includes(each)))
      .map(([sending]) => sending);
    const before = this.#tail === undefined ? apart : [this.#tail, ...apart];
    const isFull = this.#sending.size - this.#savesUnderWay >= CHANGES_UNDER_WAY_MAX;
    if (isFull || before.some(({ isOpen }) => !isOpen)) return false;
    const sending = this.#add(change, before, false);
    this.#tail = sending;
    const sent = this.#deps.sendChange(
      change,
      before.map(({ queued }) => queued.n),
    );
    const made = madeBy(change);
    if (made !== undefined) this.#makes.set(made, change.n);
    this.#opened(sending);
    this.#follow(sending, sent);
    return true;
  }

  /** Returns the change that makes a node, while that is on its way. */
  making(node: number): Making | undefined {
    const n = this.#makes.get(node);
    const sending = n === undefined ? undefined : this.#sending.get(n);
    return n === undefined || sending === undefined ? undefined : { n, settled: sending.ended };
  }

  #add(queued: Queued, before: readonly Sending[], hasFilesOpen: boolean): Sending {
    const opened = Promise.withResolvers<void>();
    const { n } = queued;
    const sending = {
      queued,
      n,
      before,
      hasFilesOpen,
      isOpen: false,
      opened,
      hasFailed: false,
      ended: Promise.resolve(),
    };
    this.#sending.set(n, sending);
    return sending;
  }

  #opened(sending: Sending): void {
    if (sending.isOpen) return;
    sending.isOpen = true;
    sending.opened.resolve();
    if (isSave(sending.queued)) this.pump();
  }

  #follow(sending: Sending, sent: Promise<void>): void {
    const { queued } = sending;
    sending.ended = sent.then(
      () => this.#ended(sending, isSave(queued) ? queued.failure : undefined),
      (error: unknown) => this.#ended(sending, error),
    );
  }

  async #ended(sending: Sending, error: unknown): Promise<void> {
    const { queued, before } = sending;
    sending.hasFailed = isSave(queued) ? queued.version === undefined : error !== undefined;
    // A content that nobody wants any more may fail too, and is not sent again.
    const isWanted = isSave(queued) ? queued.state === "unsent" : sending.hasFailed;
    // It fails with what one before it failed with, which may be under way again.
    const isInherited = isWanted && before.some((each) => each.hasFailed || this.#isAgain(each));
    const isPassing = isWanted && (isInherited || mayPass(error));
    if (isWanted && !isPassing && !isSave(queued))
      await this.#deps.refused(queued, error instanceof RunnelError ? error : failed(error));
    if (this.#sending.get(sending.n) === sending) this.#sending.delete(sending.n);
    this.#apart.delete(sending);
    if (this.#tail === sending) this.#tail = [...this.#sending.values()].findLast((each) => !this.#apart.has(each));
    const made = madeBy(queued);
    if (made !== undefined) this.#makes.delete(made);
    if (isSave(queued)) this.#savesUnderWay--;
    if (sending.hasFilesOpen) this.#openSavesUnderWay--;
    if (isPassing) {
      this.#waiting.push(queued);
      // Others here may have become conflict copies since they came, with numbers of their own.
      this.#waiting.sort(inOrder);
      if (!isInherited && !this.#deps.isPaused(queued)) this.#again();
      if (isRunnelError(error, "NoSpace", "Quota")) {
        this.#deps.lacksSpace(error);
        this.#failWaiters(error);
      }
    } else this.#remove(queued);
    sending.opened.resolve();
    this.pump();
    this.#mayBeIdle();
  }

  #remove(queued: Queued): void {
    this.#bytes -= this.#all.get(queued) ?? 0;
    this.#all.delete(queued);
    this.#waitsNoMore(queued);
    this.#deps.lessened();
  }

  /** Says whether it has not ended: it may be sent once more, and what is asked from here on comes after that. */
  #isAgain(sending: Sending): boolean {
    if (this.#sending.get(sending.n) !== sending) return false;
    if (sending.isOpen) [sending.isOpen, sending.opened] = [false, Promise.withResolvers()];
    return true;
  }

  /** Most come in their order; so many were added. */
  #sort(added: number): void {
    const last = this.#waiting.slice(-added - 1);
    const isInOrder = last.every((each, index) => index === 0 || inOrder(last[index - 1] ?? each, each) <= 0);
    if (!isInOrder) this.#waiting.sort(inOrder);
  }

  #again(): void {
    this.#isStalled = true;
    this.#timer ??= this.#deps.clock.after(AGAIN_MS, () => {
      this.#timer = undefined;
      this.resume();
    });
  }

  #mayBeIdle(): void {
    if (!this.isIdle) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

/**
 * Compares two for their order. What depends on a content that has become a conflict copy was begun before that got its
 * number.
 */
function inOrder(one: Queued, other: Queued): number {
  return Number(isCopy(other)) - Number(isCopy(one)) || one.n - other.n;
}

function isCopy(queued: Queued): boolean {
  return isSave(queued) && queued.record.copy !== undefined;
}

function madeBy(queued: Queued): number | undefined {
  if (isSave(queued)) return undefined;
  const { operation } = queued.record;
  return operation.op === "make" ? operation.node : undefined;
}

/** Says whether a change is of a file that one of these is a content of. */
function concerns(queued: Queued, saves: readonly Save[]): boolean {
  const nodes = isSave(queued) ? [queued.record.node] : queued.nodes;
  return saves.some(({ record: { node } }) => nodes.includes(node));
}

/** Says whether a failure says nothing of the change itself, or may pass: it is sent again. */
export function mayPass(failure: unknown): boolean {
  return isRunnelError(failure, ...PASSING);
}

function failed(error: unknown): RunnelError {
  return new RunnelError("Io", "change", String(error), { cause: error });
}

/** Says whether the server has refused a content, which is kept here. */
export function isGivenUp({ state, failure }: Save): boolean {
  return state === "unsent" && failure !== undefined && !mayPass(failure);
}
