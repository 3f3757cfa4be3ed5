// The write lease of a volume: its holder answers programs before the server has what they changed. So nobody else is
// served while one is held: whoever asks has it recalled, and waits until its holder has sent all and given it up, or
// the holder's lease has run out.
import type { Clock, Timer } from "@runnel/shared";
import type { Holder } from "./holder.ts";
import { SlowDevices } from "./slow-devices.ts";

export interface WriteLeaseDeps {
  clock: Clock;
  /** Tells whether somebody else has a lease, or a change under way. */
  isShared(holder: Holder): boolean;
  /** Called for whoever waits, now and then: whom it waits for, and until when on the boot clock at the latest. */
  sayWaiting(asker: Holder, holder: Holder, untilMs: number): void;
  /** Called when it ended because its holder could not be reached: what that has changed may come yet. */
  ranOut(holder: Holder): void;
}

/** An answer to who asks for it: granted, or had since before without a break; or not to be asked for again so soon. */
export type Acquired = { isGranted: true; isContinued: boolean } | { isGranted: false; retryAfterMs: number };

interface Recall {
  released: PromiseWithResolvers<void>;
  begunMs: number;
  /** When another device began to wait; undefined while only further instances of the holder's own do. */
  othersSinceMs: number | undefined;
  /** When it was recalled, or its holder last sent a change: it is at work. */
  progressMs: number;
  timer: Timer | undefined;
}

const SAID_AFTER_MS = 200;
/** A waiting client hears of it so often: within a silence that it takes for the server's death. */
const SAID_EVERY_MS = 500;
const RETRY_MS = 1_000;
/** Time after which a recalled holder is not waited for although it goes on sending. */
const RECALL_MS_MAX = 60_000;
/** Recalls within this time after which it is not granted for as long: two people work at once. */
const CONTENDED_MS = 60_000;
const RECALLS_MAX = 2;

export class WriteLease {
  readonly #deps: WriteLeaseDeps;
  #holder: Holder | undefined;
  /** It is known from before a restart, and may have been given up since it was recorded. */
  #isRestored = false;
  #recall: Recall | undefined;
  /** Devices for which others waited too long when it was recalled. */
  readonly #slowDevices = new SlowDevices(RECALL_MS_MAX);
  /** When it was recalled last, on the boot clock. */
  #recalledMs: number[] = [];

  constructor(deps: WriteLeaseDeps) {
    this.#deps = deps;
  }

  /** An instance had it before a restart; it counts for as long as that one's lease. */
  restore(holder: Holder): void {
    this.#holder = holder;
    this.#isRestored = true;
  }

  /** Returns who has it now. One whose lease has run out has it no more. */
  now(): Holder | undefined {
    const holder = this.#holder;
    if (holder === undefined || holder.hasLease(this.#deps.clock.bootMs())) return holder;
    this.#countRecall(holder);
    this.#holder = undefined;
    this.#end();
    this.#deps.ranOut(holder);
    return undefined;
  }

  acquire(holder: Holder): Acquired {
    const nowMs = this.#deps.clock.bootMs();
    const other = this.now();
    if (other?.instance === holder.instance && this.#recall === undefined) {
      const isContinued = !this.#isRestored;
      this.#isRestored = false;
      return { isGranted: true, isContinued };
    }
    if (other !== undefined || !holder.followsAll || !holder.hasLease(nowMs) || this.#deps.isShared(holder))
      return { isGranted: false, retryAfterMs: RETRY_MS };
    if (!this.#slowDevices.mayHoldLease(holder.device, nowMs)) return { isGranted: false, retryAfterMs: CONTENDED_MS };
    this.#recalledMs = this.#recalledMs.filter((recalledMs) => nowMs - recalledMs < CONTENDED_MS);
    const [oldest] = this.#recalledMs;
    if (oldest !== undefined && this.#recalledMs.length >= RECALLS_MAX)
      return { isGranted: false, retryAfterMs: Math.ceil(oldest + CONTENDED_MS - nowMs) };
    this.#holder = holder;
    this.#isRestored = false;
    return { isGranted: true, isContinued: false };
  }

  /** The same instance has attached again. */
  taken(before: Holder, by: Holder): void {
    if (this.#holder !== before) return;
    this.#holder = by;
    // It may not have heard of that before its connection was lost.
    if (this.#recall !== undefined) by.sender?.recall?.();
  }

  /** Called when its holder has given it up, with its lease or alone. Harmless for anybody else. */
  release(holder: Holder): void {
    if (this.#holder !== holder) return;
    this.#countRecall(holder);
    this.#holder = undefined;
    this.#end();
  }

  /** A change of its holder has come: it is at work. */
  progressed(holder: Holder | undefined): void {
    if (this.#recall !== undefined && holder !== undefined && holder.instance === this.#holder?.instance)
      this.#recall.progressMs = this.#deps.clock.bootMs();
  }

  /**
   * Tells whether the holder's lease may be renewed: not of one that was recalled a minute ago, or has sent nothing for
   * a term since.
   */
  mayRenew(holder: Holder): boolean {
    if (this.#recall === undefined || this.#holder !== holder) return true;
    const { begunMs, progressMs } = this.#recall;
    const nowMs = this.#deps.clock.bootMs();
    return nowMs - progressMs <= holder.termMs && nowMs - begunMs <= RECALL_MS_MAX;
  }

  isHeldByOther(asker: Holder): boolean {
    const holder = this.now();
    return holder !== undefined && holder.instance !== asker.instance;
  }

  /** Resolves when nobody else has it, having it recalled. */
  async shared(asker: Holder): Promise<void> {
    if (!this.isHeldByOther(asker)) return;
    const end = this.#sayTo(asker);
    try {
      while (this.isHeldByOther(asker)) await this.#beginRecall(asker).released.promise;
    } finally {
      end();
    }
  }

  close(): void {
    this.#holder = undefined;
    this.#end();
  }

  #beginRecall(asker: Holder): Recall {
    const recall = this.#recall ?? this.#newRecall();
    if (asker.device !== this.#holder?.device) recall.othersSinceMs ??= this.#deps.clock.bootMs();
    return recall;
  }

  #newRecall(): Recall {
    const nowMs = this.#deps.clock.bootMs();
    this.#recalledMs.push(nowMs);
    const released = Promise.withResolvers<void>();
    const recall: Recall = {
      released,
      begunMs: nowMs,
      othersSinceMs: undefined,
      progressMs: nowMs,
      timer: undefined,
    };
    this.#recall = recall;
    this.#holder?.sender?.recall?.();
    this.#watch(recall);
    return recall;
  }

  /** Counts for the holder's device how long others waited. */
  #countRecall({ device }: Holder): void {
    const fromMs = this.#recall?.othersSinceMs;
    if (fromMs === undefined) return;
    this.#slowDevices.waited(device, { fromMs, toMs: this.#deps.clock.bootMs(), termMs: RECALL_MS_MAX });
  }

  /** The lease runs out by itself, unless it is renewed meanwhile. */
  #watch(recall: Recall): void {
    const { clock } = this.#deps;
    const leftMs = Math.max(1, (this.#holder?.leaseUntilMs ?? 0) - clock.bootMs());
    recall.timer = clock.after(leftMs, () => {
      if (this.#recall === recall && this.now() !== undefined) this.#watch(recall);
    });
  }

  #end(): void {
    const recall = this.#recall;
    this.#recall = undefined;
    recall?.timer?.cancel();
    recall?.released.resolve();
  }

  #sayTo(asker: Holder): () => void {
    const { clock, sayWaiting } = this.#deps;
    let timer: Timer | undefined;
    const say = (): void => {
      const holder = this.now();
      if (holder !== undefined) sayWaiting(asker, holder, holder.leaseUntilMs);
      timer = clock.after(SAID_EVERY_MS, say);
    };
    timer = clock.after(SAID_AFTER_MS, say);
    return () => timer?.cancel();
  }
}
