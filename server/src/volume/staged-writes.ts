// Unfinished writes: what each instance has staged, within its allowance; and those whose channel broke, kept for a day by operation, so that a
// repetition goes on where it stopped, in the next life of the server as well.
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, TIMING } from "@runnel/shared";
import type { LeftFile } from "../content/content-store.ts";
import { LeftWrites } from "./left-writes.ts";
import type { LeftParts } from "./left-writes.ts";
import type { WriteSession } from "./write-session.ts";

/** Kept sessions have up to INLINE_BYTES_MAX (new-data.ts) in memory each. */
const KEPT_PER_INSTANCE_MAX = 64;

/** Of one instance: bytes staged and not yet committed. */
export interface Allowance {
  /** @throws Quota. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

interface Kept {
  instance: string;
  session: WriteSession;
  timer: Timer;
}

export class StagedWrites {
  private readonly clock: Clock;
  private readonly bytesMax: number;
  /** Oldest first. */
  private readonly kept = new Map<string, Kept>();
  private readonly bytes = new Map<string, number>();
  private readonly left: LeftWrites;
  /** Being taken up from what is left; whoever asks again meanwhile waits for the same. */
  private readonly awakening = new Map<string, Promise<void>>();
  private isClosed = false;

  constructor(parts: Pick<LeftParts, "clock" | "epoch" | "takeUp" | "warn">, bytesMax: number = LIMITS.stagedBytes) {
    this.clock = parts.clock;
    this.bytesMax = bytesMax;
    this.left = new LeftWrites({
      ...parts,
      keptPerInstance: KEPT_PER_INSTANCE_MAX,
      allowance: (instance) => this.allowance(instance),
    });
  }

  /** What an earlier life left. */
  found(files: readonly LeftFile[]): void {
    this.left.found(files);
  }

  /** What is left of this one is proved and kept: `take` has it then. A large one takes a while. */
  async awaken(instance: string, n: number): Promise<void> {
    const key = `${instance}:${n}`;
    let awakening = this.awakening.get(key);
    if (awakening === undefined) {
      awakening = this.awakenNow(instance, n).finally(() => this.awakening.delete(key));
      this.awakening.set(key, awakening);
    }
    await awakening;
  }

  private async awakenNow(instance: string, n: number): Promise<void> {
    const session = await this.left.take(instance, n);
    if (session !== undefined) await this.keep(instance, n, session);
  }

  allowance(instance: string): Allowance {
    const change = (by: number): void => {
      const bytes = (this.bytes.get(instance) ?? 0) + by;
      if (bytes > this.bytesMax && by > 0) {
        throw new RunnelError("Quota", "write", "Too much is uploaded and not yet saved.", {
          detail: { limit: this.bytesMax },
        });
      }
      if (bytes > 0) this.bytes.set(instance, bytes);
      else this.bytes.delete(instance);
    };
    return { take: change, giveBack: (bytes) => change(-bytes) };
  }

  async keep(instance: string, n: number, session: WriteSession): Promise<void> {
    // First: whoever takes it must not meet it half at rest.
    await session.rest();
    if (this.isClosed) return session.leave();
    const key = `${instance}:${n}`;
    const before = this.take(instance, n);
    const timer = this.clock.after(TIMING.stagedKeepMs, () => {
      this.kept.delete(key);
      void session.discard();
    });
    this.kept.set(key, { instance, session, timer });
    await before?.discard();
    const others = [...this.kept].filter(([, one]) => one.instance === instance);
    if (others.length <= KEPT_PER_INSTANCE_MAX) return;
    for (const [old, { session: oldest, timer: oldTimer }] of others.slice(0, -KEPT_PER_INSTANCE_MAX)) {
      oldTimer.cancel();
      this.kept.delete(old);
      await oldest.discard();
    }
  }

  /** Hands it over; it is kept no more. */
  take(instance: string, n: number): WriteSession | undefined {
    const key = `${instance}:${n}`;
    const kept = this.kept.get(key);
    kept?.timer.cancel();
    this.kept.delete(key);
    return kept?.session;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.left.close();
    const kept = [...this.kept.values()];
    this.kept.clear();
    for (const { session, timer } of kept) {
      timer.cancel();
      await session.leave();
    }
  }
}
