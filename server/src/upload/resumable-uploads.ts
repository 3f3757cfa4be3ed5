// Unfinished writes: what each instance has staged, within its allowance; and those whose channel broke, kept for a day by operation, so that a
// repetition goes on where it stopped, in the next life of the server as well.
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, TIMING, isRunnelError } from "@runnel/shared";
import type { ResumableFile } from "../content/content-store.ts";
import { LeftWrites } from "./detached-uploads.ts";
import type { LeftParts } from "./detached-uploads.ts";
import type { WriteSession } from "./write-session.ts";

/** Of one device, or of one instance where devices are not known. */
const KEPT_PER_OWNER_MAX = 64;
/** Of one likewise, put to rest at a time: of more than that the newest are not. */
const KEEPING_PER_OWNER_MAX = 2 * KEPT_PER_OWNER_MAX;
/** Whoever's they are: of the sessions that a volume keeps the oldest go, and so they do when their recipes take much memory. */
const KEPT_MAX = 1024;
/** Of what a device has staged, in memory. */
const MEMORY_BYTES_MAX = 8 * 1024 * 1024;
const KEPT_DESCRIPTORS_MAX = 1_048_576;
/** Staged files, with their notes, and versions that are copied from, open for the writes of a device. As many as it may have under way need no more. */
const FILES_MAX = 4 * LIMITS.channels;

/** Of one device, or of one instance where devices are not known: bytes staged and not yet committed. */
export interface Allowance {
  /** @throws Quota. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** So much of it is to be kept in memory. False: it has to go to the disk. */
  keep(bytes: number): boolean;
  letGo(bytes: number): void;
  /** So many files are to be open; less than 0: no more. False: there are too many. */
  open(files: number): boolean;
  /** So many descriptors are held in memory; less than 0: no more. @throws Busy. */
  describe(descriptors: number): void;
}

interface Kept {
  instance: string;
  device: string;
  session: WriteSession;
  timer: Timer;
}

export class StagedWrites {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #bytes = new Map<string, number>();
  readonly #memoryBytes = new Map<string, number>();
  readonly #descriptors = new Map<string, number>();
  readonly #files = new Map<string, number>();
  /** By owner, how many are just being put to rest. */
  readonly #keeping = new Map<string, number>();
  readonly #left: LeftWrites;
  /** Being taken up from what is left; whoever asks again meanwhile waits for the same. */
  readonly #awakening = new Map<string, Promise<void>>();
  /** Devices whose access was withdrawn. */
  readonly #dropped = new Set<string>();
  #isClosed = false;

  constructor(parts: Pick<LeftParts, "clock" | "epoch" | "takeUp" | "warn">, bytesMax: number = LIMITS.stagedBytes) {
    this.#clock = parts.clock;
    this.#bytesMax = bytesMax;
    this.#left = new LeftWrites({
      ...parts,
      keptPerInstance: KEPT_PER_OWNER_MAX,
      allowance: (instance) => this.allowance(instance),
    });
  }

  /** What an earlier life left. */
  found(files: readonly ResumableFile[]): void {
    this.#left.found(files);
  }

  /** What is left of this one is proved and kept: `take` has it then. A large one takes a while. */
  async awaken(instance: string, n: number): Promise<void> {
    const key = `${instance}:${n}`;
    let awakening = this.#awakening.get(key);
    if (awakening === undefined) {
      awakening = this.#awakenNow(instance, n).finally(() => this.#awakening.delete(key));
      this.#awakening.set(key, awakening);
    }
    await awakening;
  }

  async #awakenNow(instance: string, n: number): Promise<void> {
    const session = await this.#left.take(instance, n);
    if (session !== undefined) await this.keep({ instance, n, device: "" }, session);
  }

  allowance(owner: string): Allowance {
    return {
      take: (bytes) => {
        if (change(this.#bytes, owner, bytes, this.#bytesMax)) return;
        throw new RunnelError("Quota", "write", "Too much is uploaded and not yet saved.", {
          detail: { limit: this.#bytesMax },
        });
      },
      giveBack: (bytes) => void change(this.#bytes, owner, -bytes),
      keep: (bytes) => change(this.#memoryBytes, owner, bytes, MEMORY_BYTES_MAX),
      letGo: (bytes) => void change(this.#memoryBytes, owner, -bytes),
      open: (files) => change(this.#files, owner, files, FILES_MAX),
      describe: (count) => {
        if (change(this.#descriptors, owner, count, LIMITS.unfinishedDescriptors)) return;
        throw new RunnelError("Busy", "write", "The files that are being uploaded have too many chunks together.", {
          detail: { limit: LIMITS.unfinishedDescriptors, retryAfterMs: 10_000 },
        });
      },
    };
  }

  /** The write whose channel broke. It is not kept where there is no room for it, nor for a device that was dropped. */
  async keep(
    { instance, n, device }: { instance: string; n: number; device: string },
    session: WriteSession,
  ): Promise<void> {
    const owner = device || instance;
    if ((this.#keeping.get(owner) ?? 0) >= KEEPING_PER_OWNER_MAX) return session.discard();
    change(this.#keeping, owner, 1);
    try {
      await this.#keepRested({ instance, n, device }, session);
    } finally {
      change(this.#keeping, owner, -1);
    }
  }

  async #keepRested(
    { instance, n, device }: { instance: string; n: number; device: string },
    session: WriteSession,
  ): Promise<void> {
    try {
      // First: whoever takes it must not meet it half at rest.
      await session.rest();
    } catch (error) {
      await session.discard();
      if (isRunnelError(error, "NoSpace", "Quota", "Unavailable", "Busy")) return;
      throw error;
    }
    if (this.#isClosed) return session.leave();
    if (this.#dropped.has(device)) return session.discard();
    const key = `${instance}:${n}`;
    const before = this.take(instance, n);
    const timer = this.#clock.after(TIMING.stagedKeepMs, () => {
      this.#kept.delete(key);
      void session.discard();
    });
    this.#kept.set(key, { instance, device, session, timer });
    await before?.discard();
    for (const old of this.#tooMany(device || instance)) await this.#discard(old);
  }

  /** A device's access was withdrawn: nothing of it is kept, now or later. */
  async drop(device: string): Promise<void> {
    this.#dropped.add(device);
    for (const [key, kept] of this.#kept) if (kept.device === device) await this.#discard(key);
  }

  /** The oldest of the owner's, and of all. */
  #tooMany(owner: string): string[] {
    let [all, own, descriptors] = [0, 0, 0];
    return [...this.#kept].toReversed().flatMap(([key, { instance, device, session }]) => {
      const isOwn = (device || instance) === owner;
      if (isOwn) own++;
      descriptors += session.descriptors;
      const isOver = ++all > KEPT_MAX || (all > 1 && descriptors > KEPT_DESCRIPTORS_MAX);
      return isOver || (isOwn && own > KEPT_PER_OWNER_MAX) ? [key] : [];
    });
  }

  async #discard(key: string): Promise<void> {
    const kept = this.#kept.get(key);
    kept?.timer.cancel();
    this.#kept.delete(key);
    await kept?.session.discard();
  }

  /** Hands it over; it is kept no more. */
  take(instance: string, n: number): WriteSession | undefined {
    const key = `${instance}:${n}`;
    const kept = this.#kept.get(key);
    kept?.timer.cancel();
    this.#kept.delete(key);
    return kept?.session;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#left.close();
    const kept = [...this.#kept.values()];
    this.#kept.clear();
    for (const { session, timer } of kept) {
      timer.cancel();
      await session.leave();
    }
  }
}

/** False: it would be more than `most`, and is as before. */
function change(of: Map<string, number>, owner: string, by: number, most = Infinity): boolean {
  const sum = (of.get(owner) ?? 0) + by;
  if (sum > most && by > 0) return false;
  if (sum > 0) of.set(owner, sum);
  else of.delete(owner);
  return true;
}
