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
    this.transfers = new Transfers({ ...deps, ended: (transfer, bytes) => this.#ended(transfer, bytes) });
  }

  list(): LiveTransfer[] {
    return this.transfers.list();
  }

  /** Takes the counts since the last call. */
  takeCounts(): FolderCounts[] {
    this.transfers.takeCrossed((transfer, bytes) => {
      this.#meter.add(this.transfers.pathOf(transfer.subject), crossedCounts(transfer, bytes));
    });
    return this.#meter.take();
  }

  happened(kind: HappeningKind, path = "", detail = ""): void {
    this.#deps.happened({ kind, path, files: path === "" ? 0 : 1, bytes: 0, detail });
  }

  #ended(transfer: Transfer, crossedBytes: number): void {
    const { subject, movedBytes, hasSucceeded } = transfer;
    const { direction, files = 1, totalBytes } = subject;
    const isUpload = direction === "up";
    const cameBytes = movedBytes + transfer.fromOldVersion;
    if (crossedBytes === 0 && !hasSucceeded && cameBytes === 0) return;
    const path = this.transfers.pathOf(subject);
    const worked = isUpload ? (hasSucceeded ? savedUp(transfer) : {}) : readDown(transfer);
    this.#meter.add(path, { ...worked, ...crossedCounts(transfer, crossedBytes) });
    if (isUpload && hasSucceeded) this.#deps.happened({ kind: "saved", path, files, bytes: totalBytes, detail: "" });
    else if (!isUpload && cameBytes > 0)
      this.#deps.happened({ kind: "fetched", path, files, bytes: cameBytes, detail: "" });
  }
}

function crossedCounts({ subject }: Transfer, bytes: number): Partial<Counts> {
  return subject.direction === "up" ? { sent: bytes } : { received: bytes };
}

/**
 * Counts of a saved content. Only bytes that a program wrote can be saved: a small edit of a large file spares what
 * was not written anew nothing.
 */
function savedUp(transfer: Transfer): Partial<Counts> {
  const { subject, movedBytes, fromOldVersion, fromOtherFile, savedByDifference, savedByCompression } = transfer;
  const written = subject.workedBytes ?? 0;
  const unmoved = Math.max(0, written - movedBytes);
  const old = Math.min(fromOldVersion, unmoved);
  const share = movedBytes === 0 ? 0 : Math.min(1, written / movedBytes);
  return {
    written,
    oldVersion: old + Math.round(savedByDifference * share),
    otherFile: Math.min(fromOtherFile, unmoved - old),
    compression: Math.round(savedByCompression * share),
  };
}

function readDown(transfer: Transfer): Partial<Counts> {
  const { subject, movedBytes, fromOldVersion, savedByDifference, savedByCompression } = transfer;
  if (subject.isRead !== true) return {};
  return {
    read: movedBytes + fromOldVersion,
    oldVersion: fromOldVersion + savedByDifference,
    compression: savedByCompression,
  };
}
