// Lets log segments go: one may be dropped when the meta store is durable past it and every commit in it is in the plain folder.
import type { Clock, Log, Timer } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

const SEGMENT_BYTES_MAX = 64 * 1024 * 1024;
const CHECK_EVERY_MS = 5_000;

export class LogKeeper {
  private readonly parts: { log: Log; meta: MetaStore; clock: Clock; warn(message: string, error?: unknown): void };
  /** Highest seq of each closed or current segment that must be brought up first. */
  private readonly lastOf = new Map<number, number>();
  private upSeq = 0;
  private timer: Timer | undefined;
  private working: Promise<void> | undefined;
  private isClosed = false;

  constructor(parts: { log: Log; meta: MetaStore; clock: Clock; warn(message: string, error?: unknown): void }) {
    this.parts = parts;
    this.arm();
  }

  wrote(seq: number, segment: number, mustComeUp: boolean): void {
    if (mustComeUp) this.lastOf.set(segment, seq);
  }

  up(seq: number): void {
    this.upSeq = seq;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.working;
  }

  private arm(): void {
    if (this.isClosed) return;
    this.timer = this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.working = this.tidy()
        .catch((error: unknown) => this.parts.warn("Old parts of the commit log could not be removed.", error))
        .finally(() => this.arm());
    });
  }

  private async tidy(): Promise<void> {
    const { log, meta } = this.parts;
    if (log.current.sizeBytes < SEGMENT_BYTES_MAX) return;
    const current = await log.rotate();
    await meta.checkpoint();
    let keepFrom = current;
    for (const [segment, seq] of this.lastOf) {
      if (segment < current && seq > this.upSeq) keepFrom = Math.min(keepFrom, segment);
    }
    await log.dropBefore(keepFrom);
    for (const segment of this.lastOf.keys()) if (segment < keepFrom) this.lastOf.delete(segment);
  }
}
