// The budget of contents that wait to be sent: they take this computer's disk until the server has them. A person is
// told before it is used up; then whoever writes waits for the server, or is refused while there is none.
import { type Clock, Condition, type DiskRoot, RunnelError } from "@runnel/shared";
import prettyBytes from "pretty-bytes";

export interface UnsentBudgetDeps {
  /** May change while the drive is there. */
  settings: { readonly unsentBytes?: number };
  clock: Clock;
  /** Folder of the contents. */
  data: Pick<DiskRoot, "space">;
  usedBytes(): number;
  isConnected(): boolean;
  /** All that waits is paused. */
  isHeld(): boolean;
  /** Called when a program begins to wait for room. */
  awaited(): void;
}

/** The most that they may take unless a person says otherwise; in any case half of what the disk has for them. */
const UNSENT_BYTES = 20 * 1024 ** 3;
/** Share of it from which on a person is told. */
const HIGH = 0.8;
/** Interval at which the disk is looked at while something waits. */
const LOOK_EVERY_MS = 2_000;

export class UnsentBudget {
  readonly #deps: UnsentBudgetDeps;
  readonly #change = new Condition();
  #diskBytes = Infinity;
  #lookedMs = -Infinity;
  #waiters = 0;

  constructor(deps: UnsentBudgetDeps) {
    this.#deps = deps;
  }

  get limitBytes(): number {
    return Math.min(this.#deps.settings.unsentBytes ?? UNSENT_BYTES, this.#diskBytes);
  }

  /**
   * Resolves when there is room for so much more: while there is a server, once it has enough of what waits. What is
   * larger than all of it has room when nothing waits. @throws NoSpace while there is none, or all that waits is
   * paused; what the server lacks, where that keeps what waits from being sent.
   */
  async room(bytes: number): Promise<void> {
    const { usedBytes, isConnected, isHeld } = this.#deps;
    if (usedBytes() === 0) return;
    await this.#look();
    while (usedBytes() > 0 && usedBytes() + bytes > this.limitBytes) {
      if (!isConnected() || isHeld()) throw new RunnelError("NoSpace", "save", this.#sentence());
      await this.#waitForChange();
    }
  }

  /** Says whether there is room for so much more, as far as is known; the disk is looked at meanwhile. */
  hasRoom(bytes: number): boolean {
    void this.#look();
    return this.#deps.usedBytes() + bytes <= this.limitBytes;
  }

  /** Somebody waits for room. */
  get isAwaited(): boolean {
    return this.#waiters > 0;
  }

  async #waitForChange(): Promise<void> {
    this.#waiters++;
    try {
      const changed = this.#change.wait();
      this.#deps.awaited();
      await changed;
    } finally {
      this.#waiters--;
    }
  }

  /** Called when something was sent, and when there is a server or none. */
  changed(): void {
    this.#change.notify();
  }

  /** Called with what the server refuses to take any more for. */
  fail(error: RunnelError): void {
    this.#change.fail(error);
  }

  /** Returns a sentence once most of it is used. */
  problem(): string | undefined {
    const usedBytes = this.#deps.usedBytes();
    return usedBytes > 0 && usedBytes >= HIGH * this.limitBytes ? this.#sentence() : undefined;
  }

  #sentence(): string {
    const { usedBytes, isConnected, isHeld } = this.#deps;
    const [used, limit] = [usedBytes(), this.limitBytes].map((bytes) => prettyBytes(bytes, { binary: true }));
    const until = isHeld() ? "what is paused is resumed" : "the server is back";
    const next =
      isConnected() && !isHeld()
        ? "programs wait for the server then"
        : `then nothing more can be saved until ${until}`;
    return `What waits to be sent takes ${used} of the ${limit} that it may take here; ${next}.`;
  }

  /** Half of what is free and what waits already: other programs need room too. */
  async #look(): Promise<void> {
    const { clock, data, usedBytes } = this.#deps;
    if (clock.bootMs() - this.#lookedMs < LOOK_EVERY_MS) return;
    this.#lookedMs = clock.bootMs();
    const space = await data.space().catch(() => undefined);
    if (space !== undefined) this.#diskBytes = (space.availableBytes + usedBytes()) / 2;
  }
}
