// Unfinished writes: what each instance has staged, within its allowance; and those whose channel broke, kept for a day by operation, so that a
// repetition goes on where it stopped.
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, TIMING } from "@runnel/shared";
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

  constructor(clock: Clock, bytesMax: number = LIMITS.stagedBytes) {
    this.clock = clock;
    this.bytesMax = bytesMax;
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
    const kept = [...this.kept.values()];
    this.kept.clear();
    for (const { session, timer } of kept) {
      timer.cancel();
      await session.discard();
    }
  }
}
