// Unfinished uploads: the allowance of each owner, and writes whose channel broke, kept for a day by operation, so that
// a repetition continues where they stopped, in the next process of the server as well.
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, TIMING, isRunnelError } from "@runnel/shared";
import type { ResumableFile } from "../content/content-store.ts";
import { type Allowance, Allowances, Counts, ownerOf } from "./allowances.ts";
import { type DetachedDeps, DetachedUploads } from "./detached-uploads.ts";
import type { WriteSession } from "./write-session.ts";

/** Suspended writes of one owner. */
const PER_OWNER_MAX = 64;
/** Writes of one owner that are being suspended at a time; of more than that the newest are discarded. */
const SUSPENDING_PER_OWNER_MAX = 2 * PER_OWNER_MAX;
/** Suspended writes of a volume: of more the oldest go, and so they do when their recipes take much memory. */
const SUSPENDED_MAX = 1024;
const DESCRIPTORS_MAX = 1_048_576;

interface Suspended {
  instance: string;
  device: string;
  session: WriteSession;
  timer: Timer;
}

export class ResumableUploads {
  readonly #clock: Clock;
  readonly #allowances: Allowances;
  /** Suspended writes by operation, the oldest first. */
  readonly #suspended = new Map<string, Suspended>();
  /** Number of writes that are just being suspended, by owner. */
  readonly #suspending = new Counts();
  readonly #detached: DetachedUploads;
  /** Detached uploads that are being resumed: whoever asks again meanwhile waits for the same. */
  readonly #resuming = new Map<string, Promise<void>>();
  /** Devices that may not write here any more. */
  readonly #dropped = new Set<string>();
  #isClosed = false;

  constructor(deps: Pick<DetachedDeps, "clock" | "epoch" | "resume" | "warn">, bytesMax: number = LIMITS.stagedBytes) {
    this.#clock = deps.clock;
    this.#allowances = new Allowances(bytesMax);
    this.#detached = new DetachedUploads({
      ...deps,
      perOwnerMax: PER_OWNER_MAX,
      allowance: (owner) => this.allowance(owner),
    });
  }

  /** Adds the uploads that an earlier process detached. */
  addDetached(files: readonly ResumableFile[]): void {
    this.#detached.add(files);
  }

  /**
   * Verifies what an earlier process left of this operation, and suspends it here: `take` has it then. A large one
   * takes a while.
   */
  async resumeDetached(instance: string, n: number): Promise<void> {
    const key = `${instance}:${n}`;
    let resuming = this.#resuming.get(key);
    if (resuming === undefined) {
      resuming = this.#resume(instance, n).finally(() => this.#resuming.delete(key));
      this.#resuming.set(key, resuming);
    }
    await resuming;
  }

  async #resume(instance: string, n: number): Promise<void> {
    const resumed = await this.#detached.resume(instance, n);
    if (resumed !== undefined) await this.suspend({ instance, n, device: resumed.device }, resumed.session);
  }

  allowance(owner: string): Allowance {
    return this.#allowances.of(owner);
  }

  /** Keeps a write whose channel broke, unless there is no room for it or its device was dropped. */
  async suspend(
    { instance, n, device }: { instance: string; n: number; device: string },
    session: WriteSession,
  ): Promise<void> {
    const owner = ownerOf({ device, instance });
    if (!this.#suspending.add(owner, 1, SUSPENDING_PER_OWNER_MAX)) return session.discard();
    try {
      await this.#suspend({ instance, n, device }, session);
    } finally {
      this.#suspending.add(owner, -1);
    }
  }

  async #suspend(
    { instance, n, device }: { instance: string; n: number; device: string },
    session: WriteSession,
  ): Promise<void> {
    try {
      // First: whoever takes it must not meet it half suspended.
      await session.suspend();
    } catch (error) {
      await session.discard();
      if (isRunnelError(error, "NoSpace", "Quota", "Unavailable", "Busy")) return;
      throw error;
    }
    if (this.#isClosed) return session.detach();
    if (this.#dropped.has(device)) return session.discard();
    const key = `${instance}:${n}`;
    const before = this.take(instance, n);
    const timer = this.#clock.after(TIMING.stagedKeepMs, () => {
      this.#suspended.delete(key);
      void session.discard();
    });
    this.#suspended.set(key, { instance, device, session, timer });
    await before?.discard();
    for (const old of this.#tooMany(ownerOf({ device, instance }))) await this.#discard(old);
  }

  /** Discards what a device has here, now and until `restore`: it may not write any more. */
  async drop(device: string): Promise<void> {
    this.#dropped.add(device);
    for (const [key, suspended] of this.#suspended) if (suspended.device === device) await this.#discard(key);
    await this.#detached.drop((each) => each === device);
  }

  /**
   * Discards what was found at the start of devices that may not write: they lost their right while nobody was here to
   * be told. What is of no device stays.
   */
  async dropOthers(mayWrite: (device: string) => boolean): Promise<void> {
    await this.#detached.drop((device) => device !== "" && !mayWrite(device));
  }

  /** The device may write again. */
  restore(device: string): void {
    this.#dropped.delete(device);
  }

  /** Lists the oldest beyond the limits of the owner and of the volume. */
  #tooMany(owner: string): string[] {
    let [all, own, descriptors] = [0, 0, 0];
    return [...this.#suspended].toReversed().flatMap(([key, { instance, device, session }]) => {
      const isOwn = ownerOf({ device, instance }) === owner;
      if (isOwn) own++;
      descriptors += session.descriptors;
      const isOver = ++all > SUSPENDED_MAX || (all > 1 && descriptors > DESCRIPTORS_MAX);
      return isOver || (isOwn && own > PER_OWNER_MAX) ? [key] : [];
    });
  }

  async #discard(key: string): Promise<void> {
    await this.#remove(key)?.discard();
  }

  /** Hands a suspended write over to who continues it. */
  take(instance: string, n: number): WriteSession | undefined {
    return this.#remove(`${instance}:${n}`);
  }

  #remove(key: string): WriteSession | undefined {
    const suspended = this.#suspended.get(key);
    suspended?.timer.cancel();
    this.#suspended.delete(key);
    return suspended?.session;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#detached.close();
    const suspended = [...this.#suspended.values()];
    this.#suspended.clear();
    for (const { session, timer } of suspended) {
      timer.cancel();
      await session.detach();
    }
  }
}
