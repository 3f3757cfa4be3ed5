// Watches one drive for whoever looks at it: what moves now, what was counted since somebody asked, and what happens.
import type { Clock } from "@runnel/shared";
import { type Counts, type FolderCounts, Meter, type Totals } from "./meter.ts";
import { type LiveTransfer, type Transfer, Transfers } from "./transfers.ts";

/** Kinds of what a person may want to know later. */
export const HAPPENINGS = [
  "mounted",
  "unmounted",
  "offline",
  "online",
  "saved",
  "fetched",
  "unsent",
  "refused",
  "conflict",
  "problem",
  "paused",
  "resumed",
] as const;
export type HappeningKind = (typeof HAPPENINGS)[number];

export interface Happening {
  kind: HappeningKind;
  /** Path in the drive; "": the drive. */
  path: string;
  files: number;
  bytes: number;
  /** A sentence where there is more to say; else "". */
  detail: string;
}

export interface MountWatchDeps {
  clock: Clock;
  waitingFor(): ReadonlyMap<number, readonly string[]>;
  isOnline(): boolean;
  pathOf(node: number): string;
  totals(): Totals;
  happened(happening: Happening): void;
}

export class MountWatch {
  readonly transfers: Transfers;
  readonly #meter: Meter;
  readonly #deps: MountWatchDeps;

  constructor(deps: MountWatchDeps) {
    this.#deps = deps;
    this.#meter = new Meter(() => deps.totals());
    this.transfers = new Transfers({ ...deps, ended: (transfer, counts) => this.#ended(transfer, counts) });
  }

  list(): LiveTransfer[] {
    return this.transfers.list();
  }

  /** Takes the counts since the last call. */
  takeCounts(): FolderCounts[] {
    this.transfers.takeCounts((transfer, counts) => this.#count(transfer, counts));
    return this.#meter.take();
  }

  happened(kind: HappeningKind, path = "", detail = ""): void {
    this.#deps.happened({ kind, path, files: path === "" ? 0 : 1, bytes: 0, detail });
  }

  #count(transfer: Transfer, counts: Counts): void {
    this.#meter.add(this.transfers.pathOf(transfer.subject), counts);
  }

  #ended(transfer: Transfer, counts: Counts): void {
    this.#count(transfer, counts);
    const { subject, movedBytes, fromOldVersion, hasSucceeded } = transfer;
    const { direction, files = 1, totalBytes } = subject;
    const isUpload = direction === "up";
    const bytes = isUpload ? totalBytes : movedBytes + fromOldVersion;
    if (isUpload ? !hasSucceeded : bytes === 0) return;
    const path = this.transfers.pathOf(subject);
    this.#deps.happened({ kind: isUpload ? "saved" : "fetched", path, files, bytes, detail: "" });
  }
}
