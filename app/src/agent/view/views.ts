// Shows the state of the agent to whoever follows it: a snapshot, then what changes, at most four times a second. The
// state is worked out once for all followers, and not at all while there are none. A follower that does not read is
// sent nothing more until it does: changes wait as the state that they lead to.
import { type Call, changesBetween, type Clock, pause, RunnelError, type ViewItem } from "@runnel/shared/base";
import type { MountStatus } from "../mount-status.ts";
import type { Head } from "./head.ts";
import { headOf } from "./head.ts";
import type { LiveTransfer } from "./transfers.ts";
import { bytesOf, clip, fitted, type ViewList, type ViewLists } from "./view-state.ts";
import type { ViewChanges, ViewState } from "./view-state.ts";

/** Interval between two parts. */
export const VIEW_EVERY_MS = 250;
/** Interval at which drives are asked how they are: it takes time where much waits to be sent. */
const STATUS_EVERY_MS = 1_000;
const FOLLOWERS_MAX = 64;
/** Items that may be shown of a list. */
const ITEMS_MAX = 200;
const SENTENCES_MAX = 3;

/** A mount, as far as a view shows it. */
export interface ShownMount {
  readonly settings: { readonly url: string; readonly mountpoint: string };
  status(asksServer: boolean): Promise<MountStatus>;
  transfers(): LiveTransfer[];
}

export interface ViewsDeps {
  clock: Clock;
  mounts(): readonly ShownMount[];
  /** Returns drives that an earlier agent did not end. */
  lost(): readonly UnmappedPlace[];
  /** Returns drives that are kept, and not mapped now. */
  resting(): readonly UnmappedPlace[];
  /** Returns what happened last, newest first. */
  lately(limit: number): ViewItem[];
}

interface UnmappedPlace {
  url: string;
  mountpoint: string;
}

/** A drive that was there, and can be mapped again or forgotten. */
export interface UnmappedItem extends ViewItem {
  url: string;
  /** An earlier agent did not end it; else it is kept. */
  isLost: boolean;
}

export interface DriveItem extends ViewItem, Head {
  url: string;
  unsentFiles: number;
  unsentNames: number;
  unsentBytes: number;
  /** Saves that programs wait for. */
  awaitedFiles: number;
  cacheBytes: number;
  cacheLimitBytes: number;
  /** Bytes that pins need beyond that. */
  pinsLackBytes: number;
  conflicts: number;
  problems: string[];
  /** End of its pause in words; null: it is not paused. */
  pausedUntil: string | null;
  /** Number of folders and files in it that are paused by themselves. */
  pausedFolders: number;
}

export interface TransferItem extends ViewItem, Omit<LiveTransfer, "id"> {
  /** Drive that it is of. */
  mountpoint: string;
}

export type ViewPart = { snapshot: ViewState } | { changes: ViewChanges };

interface Shown {
  head: Head;
  lists: Required<ViewLists>;
}

export class Views {
  readonly #deps: ViewsDeps;
  #followers = 0;
  #statuses: { statuses: Promise<MountStatus[]>; askedMs: number } | undefined;
  #shown: { shown: Promise<Shown>; madeMs: number } | undefined;

  constructor(deps: ViewsDeps) {
    this.#deps = deps;
  }

  /** Sends the state and its changes until the call is cancelled. @throws RunnelError Busy when too many follow. */
  async follow(wants: readonly ViewList[], call: Call<ViewPart>): Promise<void> {
    if (this.#followers >= FOLLOWERS_MAX)
      throw new RunnelError("Busy", "view", "Too many windows look at the agent. Close some.");
    this.#followers++;
    try {
      let sent = await this.#state(wants);
      await call.part({ snapshot: sent });
      while (!call.signal.aborted) {
        await pause(this.#deps.clock, VIEW_EVERY_MS, call.signal);
        if (call.signal.aborted) return;
        const now = await this.#state(wants);
        const changes = changesBetween(sent, now);
        if (changes === undefined) continue;
        sent = now;
        await call.part(bytesOf(changes) < bytesOf(now) ? { changes } : { snapshot: now });
      }
    } finally {
      this.#followers--;
    }
  }

  /** The sentence about all drives; `statuses` of all of them. */
  head(statuses: readonly MountStatus[]): Head {
    const transfers = this.#deps.mounts().flatMap((mount) => mount.transfers());
    return headOf({ drives: statuses, lost: this.#deps.lost(), transfers });
  }

  async #state(wants: readonly ViewList[]): Promise<ViewState> {
    const nowMs = this.#deps.clock.bootMs();
    if (this.#shown === undefined || nowMs - this.#shown.madeMs >= VIEW_EVERY_MS)
      this.#shown = { shown: this.#make(), madeMs: nowMs };
    const { head, lists } = await this.#shown.shown;
    return fitted(head, Object.fromEntries(wants.map((list) => [list, lists[list]])));
  }

  async #make(): Promise<Shown> {
    const { mounts, lost, resting, lately } = this.#deps;
    const statuses = await this.#known();
    const moving = mounts().flatMap((mount) =>
      mount.transfers().map((transfer) => ({ mountpoint: mount.settings.mountpoint, transfer })),
    );
    const transfers = moving.map(({ transfer }) => transfer);
    const head = headOf({ drives: statuses, lost: lost(), transfers });
    return {
      head,
      lists: {
        unmapped: [
          ...lost().map((place) => unmappedItem(place, true)),
          ...resting().map((place) => unmappedItem(place, false)),
        ],
        drives: statuses.map(driveItem),
        transfers: moving.slice(0, ITEMS_MAX).map(({ mountpoint, transfer }) => transferItem(mountpoint, transfer)),
        lately: lately(ITEMS_MAX),
      },
    };
  }

  #known(): Promise<MountStatus[]> {
    const nowMs = this.#deps.clock.bootMs();
    if (this.#statuses === undefined || nowMs - this.#statuses.askedMs >= STATUS_EVERY_MS) {
      const asked = this.#deps.mounts().map((mount) => mount.status(false));
      // A drive that is just ending says nothing more.
      const statuses = Promise.allSettled(asked).then((all) =>
        all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
      );
      this.#statuses = { statuses, askedMs: nowMs };
    }
    return this.#statuses.statuses;
  }
}

function unmappedItem({ url, mountpoint }: UnmappedPlace, isLost: boolean): UnmappedItem {
  return { key: mountpoint, url, isLost };
}

function driveItem(status: MountStatus): DriveItem {
  const { url, mountpoint, unsentFiles, unsentNames, unsentBytes, awaitedFiles, ...others } = status;
  const { cacheBytes, cacheLimitBytes, pinsLackBytes, conflicts, problems } = others;
  const { state, next, act } = headOf({ drives: [status], lost: [], transfers: [] });
  return {
    key: mountpoint,
    url,
    state,
    sentence: clip(status.sentence),
    next: next && clip(next),
    act,
    unsentFiles,
    unsentNames,
    unsentBytes,
    awaitedFiles,
    cacheBytes,
    cacheLimitBytes,
    pinsLackBytes,
    conflicts: conflicts.length,
    problems: problems.slice(0, SENTENCES_MAX).map((problem) => clip(problem)),
    pausedUntil: status.pause?.until ?? null,
    pausedFolders: status.pausedFolders.length,
  };
}

function transferItem(mountpoint: string, { id, path, waitsFor, ...transfer }: LiveTransfer): TransferItem {
  return {
    key: `${id}`,
    mountpoint,
    ...transfer,
    path: clip(path),
    waitsFor: waitsFor.slice(0, SENTENCES_MAX).map((name) => clip(name)),
  };
}
