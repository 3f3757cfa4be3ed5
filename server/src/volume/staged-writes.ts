// Unfinished writes by operation: kept for a day after their channel broke, so that a repetition goes on where it stopped.
import type { Clock, Timer } from "@runnel/shared";
import { TIMING } from "@runnel/shared";
import type { WriteSession } from "./write-session.ts";

export class StagedWrites {
  private readonly clock: Clock;
  private readonly kept = new Map<string, { session: WriteSession; timer: Timer }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  keep(instance: string, n: number, session: WriteSession): void {
    const key = `${instance}:${n}`;
    void this.take(instance, n)?.discard();
    const timer = this.clock.after(TIMING.stagedKeepMs, () => {
      this.kept.delete(key);
      void session.discard();
    });
    this.kept.set(key, { session, timer });
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
    for (const { session, timer } of this.kept.values()) {
      timer.cancel();
      await session.discard();
    }
    this.kept.clear();
  }
}
