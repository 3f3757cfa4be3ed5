// The answer to the question that a person has before closing the lid. Pure: what the drives say in, which answer out.
import type { DriveItem, TransferItem } from "../../src/agent/view/views.ts";

/**
 * yes: nothing is lost. sending: a program waits for a save, or something is on its way. paused, offline: changes wait
 * here, over a restart too. waiting: they are about to be sent.
 */
export interface MayStop {
  answer: "yes" | "sending" | "paused" | "offline" | "waiting";
  /** Files on their way, or changes that only this machine has. */
  count: number;
  bytes: number;
}

type Drive = Pick<
  DriveItem,
  "key" | "state" | "unsentFiles" | "unsentNames" | "unsentBytes" | "awaitedFiles" | "pausedUntil" | "pausedFolders"
>;
type Moving = Pick<TransferItem, "mountpoint" | "direction" | "files">;

/** Counts the changes that only this machine has. */
export function unsentOf({ unsentFiles, unsentNames }: Pick<Drive, "unsentFiles" | "unsentNames">): number {
  return unsentFiles + unsentNames;
}

export function isPausedSomewhere({
  pausedUntil,
  pausedFolders,
}: Pick<Drive, "pausedUntil" | "pausedFolders">): boolean {
  return pausedUntil !== null || pausedFolders > 0;
}

export function mayStop(drives: readonly Drive[], transfers: readonly Moving[]): MayStop {
  const sending = sumOf(drives, (drive) => sendingOf(drive, transfers));
  if (sending > 0) return { answer: "sending", count: sending, bytes: 0 };
  const count = sumOf(drives, unsentOf);
  if (count === 0) return { answer: "yes", count, bytes: 0 };
  const bytes = sumOf(drives, ({ unsentBytes }) => unsentBytes);
  const waiting = drives.filter((drive) => unsentOf(drive) > 0);
  if (waiting.some(isPausedSomewhere)) return { answer: "paused", count, bytes };
  return { answer: waiting.some(({ state }) => state === "offline") ? "offline" : "waiting", count, bytes };
}

/** Counts files on their way that are not among the changes which wait here. */
function sendingOf(drive: Drive, transfers: readonly Moving[]): number {
  if (drive.awaitedFiles > 0 || unsentOf(drive) > 0) return drive.awaitedFiles;
  const up = transfers.filter(({ mountpoint, direction }) => mountpoint === drive.key && direction === "up");
  return sumOf(up, ({ files }) => files);
}

function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}
