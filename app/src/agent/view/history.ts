// Remembers for people: the activity log and the savings ledger. Collects from the mounts every two seconds, and at
// their end; writes to the agent's home. Nothing of it ever fails or holds up a drive: where it cannot be written, it
// is logged once and the agent goes on without.
import { type Clock, fromSystemError, RunnelError, type Timer, type ViewItem } from "@runnel/shared/base";
import { ActivityLog, type ActivityEntry } from "./activity.ts";
import { clip } from "./view-state.ts";
import { describeActivity } from "./describe-activity.ts";
import type { HistoryStore } from "./history-store.ts";
import type { DrivePlace, Ledger } from "./ledger.ts";
import type { FolderCounts } from "./meter.ts";
import type { Happening } from "./mount-watch.ts";

/** Interval at which counts and activity are written: a killed agent loses no more. */
export const WRITE_EVERY_MS = 2_000;
/** Counts of drives that have ended, until they are written. */
const PENDING_MAX = 1_000;

/** A mount, as far as it is remembered. */
export interface CountedMount {
  readonly settings: DrivePlace;
  takeCounts(): FolderCounts[];
}

export interface HistoryDeps {
  clock: Clock;
  /** Mounts whose counts are taken. */
  mounts(): readonly CountedMount[];
  /** Opens what is on the disk; called once, when it is first needed. */
  open(): Promise<HistoryStore>;
  /** Reports what could not be written or read. */
  failed(error: RunnelError): void;
}

export interface ActivityItem extends ViewItem {
  mountpoint: string;
  kind: ActivityEntry["kind"];
  folder: string;
  sentence: string;
  count: number;
  bytes: number;
  toMs: number;
}

export class History {
  readonly #deps: HistoryDeps;
  readonly #activity: ActivityLog;
  #opening: Promise<HistoryStore | undefined> | undefined;
  #store: HistoryStore | undefined;
  #failure: RunnelError | undefined;
  /** Volumes that no kernel shows. */
  readonly #unmounted = new Set<CountedMount>();
  #pending: { place: DrivePlace; counts: FolderCounts[] }[] = [];
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
    this.#activity = new ActivityLog(deps.clock);
  }

  /** Opens what there is, so that what happens from now on follows it. Never throws. */
  async open(): Promise<void> {
    this.#opening ??= this.#openOnce();
    await this.#opening;
    this.#arm();
  }

  happened(place: DrivePlace, happening: Happening): void {
    if (this.#isClosed) return;
    this.#activity.add(place, happening);
    this.#arm();
  }

  /** Takes the last counts of a mount that has ended. */
  ended(mount: CountedMount): void {
    this.#takeOf(mount);
    this.#arm();
  }

  /** Counts a volume that no kernel shows, until it has ended: as a drive without a mount point. */
  countUnmounted(url: string, mount: Pick<CountedMount, "takeCounts"> & { ended: Promise<unknown> }): void {
    const counted = { settings: { url, mountpoint: "" }, takeCounts: () => mount.takeCounts() };
    this.#unmounted.add(counted);
    void mount.ended.then(() => {
      this.#unmounted.delete(counted);
      this.ended(counted);
    });
    this.#arm();
  }

  /** Returns what happened last, for a view; what a former agent wrote is there once the history has been opened. */
  lately(limit: number): ActivityItem[] {
    void this.open();
    return this.#activity.list(limit).map((entry) => {
      const { id, mountpoint, kind, folder, count, bytes, toMs } = entry;
      const sentence = clip(describeActivity(entry));
      return { key: `${id}`, mountpoint, kind, folder: clip(folder), sentence, count, bytes, toMs };
    });
  }

  async activity(limit: number, beforeTurn?: number): Promise<ActivityEntry[]> {
    await this.open();
    return this.#activity.list(limit, beforeTurn);
  }

  /** The ledger with all that was counted until now. @throws RunnelError why there is none. */
  async ledger(): Promise<Ledger> {
    await this.open();
    this.#write();
    if (this.#store === undefined || this.#failure !== undefined) throw this.#failure ?? closed();
    return this.#store.ledger;
  }

  /** Writes what is left, and closes. */
  async close(): Promise<void> {
    await this.#opening;
    this.#write();
    this.#isClosed = true;
    this.#timer?.cancel();
    try {
      this.#store?.close();
    } catch (error) {
      this.#fail(error);
    }
    this.#store = undefined;
  }

  async #openOnce(): Promise<HistoryStore | undefined> {
    try {
      const store = await this.#deps.open();
      this.#activity.load(store.entries());
      this.#store = store;
      if (store.dropped !== undefined) this.#deps.failed(new RunnelError("Corrupt", "open the history", store.dropped));
      return store;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #arm(): void {
    if (this.#isClosed) return;
    this.#timer ??= this.#deps.clock.after(WRITE_EVERY_MS, () => {
      this.#timer = undefined;
      this.#write();
      if (this.#mounts().length > 0) this.#arm();
    });
  }

  #mounts(): CountedMount[] {
    return [...this.#deps.mounts(), ...this.#unmounted];
  }

  #takeOf(mount: CountedMount): void {
    try {
      const counts = mount.takeCounts();
      if (counts.length > 0 && this.#pending.length < PENDING_MAX)
        this.#pending.push({ place: mount.settings, counts });
    } catch (error) {
      // That of one drive only.
      this.#deps.failed(fromSystemError(error, "count what a drive moved"));
    }
  }

  #write(): void {
    for (const mount of this.#mounts()) this.#takeOf(mount);
    const store = this.#store;
    if (store === undefined || this.#failure !== undefined) {
      // Before it is open what was counted waits; once it has failed nobody will ask for it.
      if (this.#failure !== undefined) this.#pending = [];
      return;
    }
    const changes = this.#activity.takeChanges();
    if (changes === undefined && this.#pending.length === 0) return;
    const wallMs = Number(this.#deps.clock.wallNs() / 1_000_000n);
    try {
      store.atomic(() => {
        for (const { place, counts } of this.#pending) store.ledger.add(place, wallMs, counts);
        if (changes !== undefined) store.putActivity(changes);
      });
    } catch (error) {
      this.#fail(error);
    }
    this.#pending = [];
  }

  /** Reports the first failure; from there on nothing is written. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = fromSystemError(error, "keep the history");
    this.#deps.failed(this.#failure);
  }
}

function closed(): RunnelError {
  return new RunnelError("Unavailable", "read the history", "The agent is ending. Try again in a moment.");
}
