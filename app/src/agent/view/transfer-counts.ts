// Counts of a transfer up to now, for the ledger: what crossed the wire for it, and what it was for. Pure.
import { COUNTED, type Counts, noCounts } from "./meter.ts";

/** Sources besides the server. */
export type Elsewhere = "colleague" | "stick" | "folder";

/** A transfer, as far as it counts. */
export interface CountedTransfer {
  subject: {
    direction: "up" | "down";
    /** Bytes of it that programs here wrote. */
    workedBytes?: number;
    /** Says whether it comes for a program that reads. */
    isRead?: boolean;
  };
  hasSucceeded: boolean;
  /** Bytes of the content that moved, before they were compressed. */
  movedBytes: number;
  /** Bytes that crossed the wire for it, in all attempts. */
  crossedBytes: number;
  /** Bytes of the content that did not move, by where they were found. */
  fromOldVersion: number;
  fromOtherFile: number;
  /** Bytes that came from elsewhere than the server, by whom. */
  fromElsewhere: Readonly<Record<Elsewhere, number>>;
  /** Bytes by which what moved was made smaller: as a difference from old bytes, and else. */
  savedByDifference: number;
  savedByCompression: number;
}

export function countsOf(transfer: CountedTransfer): Counts {
  const { subject, crossedBytes, hasSucceeded } = transfer;
  if (subject.direction === "down") return { ...noCounts(), ...broughtDown(transfer), received: crossedBytes };
  return { ...noCounts(), ...(hasSucceeded ? savedUp(transfer) : {}), sent: crossedBytes };
}

export function lessCounts(counts: Counts, before: Counts): Counts {
  const less = noCounts();
  for (const counted of COUNTED) less[counted] = counts[counted] - before[counted];
  return less;
}

/**
 * Counts of a saved content. Only bytes that a program wrote can be saved: a small edit of a large file spares what was
 * not written anew nothing.
 */
function savedUp(transfer: CountedTransfer): Partial<Counts> {
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

/** Counts of a content that comes. What comes ahead of a program counts by its origins; it is read when it is read. */
function broughtDown(transfer: CountedTransfer): Partial<Counts> {
  const { subject, movedBytes, fromOldVersion, fromElsewhere, savedByDifference, savedByCompression } = transfer;
  const { colleague, stick, folder } = fromElsewhere;
  return {
    colleague,
    stick,
    oldFolder: folder,
    read: subject.isRead === true ? movedBytes + fromOldVersion + colleague + stick + folder : 0,
    oldVersion: fromOldVersion + savedByDifference,
    compression: savedByCompression,
  };
}
