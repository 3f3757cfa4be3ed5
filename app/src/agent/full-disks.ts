// Says which disk is full, in a sentence: what the server refused for want of space, and how full the disks of this
// computer are.
import type { Clock, DiskRoot, DiskSpace } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";

/** Free bytes below which a disk is full: saves take space before they are refused for want of it. */
const FULL_BYTES = 1024 * 1024;
/** A file that has no space as a whole is reported for so long after it was read on. */
const TIGHT_MS = 60_000;

export class FullDisks {
  private readonly places: readonly { root: DiskRoot; holds: string }[];
  private readonly clock: Clock;
  private tightUntilMs = 0;
  private refusal: string | undefined;
  private shortage: string | undefined;

  /** Places on this computer, with what they hold: "unsent changes". */
  constructor(places: readonly { root: DiskRoot; holds: string }[], clock: Clock) {
    this.places = places;
    this.clock = clock;
  }

  /** Takes how the server answered a change. */
  answered(error: unknown): void {
    if (error === undefined) this.refusal = undefined;
    else if (isRunnelError(error, "NoSpace", "Quota")) this.refusal = error.message;
  }

  /**
   * Takes how a read went that needs space in the cache; what gave way to it, also of the same file, may have left
   * space since.
   */
  read(error: unknown, gaveWay = false): void {
    if (gaveWay) this.tightUntilMs = this.clock.bootMs() + TIGHT_MS;
    if (error === undefined) this.shortage = undefined;
    else if (isRunnelError(error, "NoSpace")) this.shortage = NO_SPACE;
  }

  /** Returns what is full now, a sentence each. */
  async problems(): Promise<string[]> {
    const tight = this.clock.bootMs() < this.tightUntilMs ? NO_SPACE : undefined;
    const problems = [this.refusal, this.shortage ?? tight].filter((sentence) => sentence !== undefined);
    for (const { root, holds } of this.places) {
      const space = await root.space().catch(() => undefined);
      if (space === undefined || !isFull(space)) continue;
      problems.push(`The disk of this computer with ${holds} is full: make room on the disk of ${root.path}.`);
    }
    return problems;
  }
}

const NO_SPACE = "This computer's disk has no room for what a program reads: make room on the disk of the cache.";

/** A file system that does not count its files, as on Windows and with btrfs, says 0 of 0. */
function isFull({ availableBytes, totalFiles, freeFiles }: DiskSpace): boolean {
  return availableBytes < FULL_BYTES || (freeFiles === 0 && totalFiles > 0);
}

/** Returns a failure for want of space on this computer. */
export function fullHere(operation: string, folder: string, cause: unknown): RunnelError {
  return new RunnelError("NoSpace", operation, `This computer's disk is full: make room on the disk of ${folder}.`, {
    cause,
  });
}
