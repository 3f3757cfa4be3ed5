// Limits of what each owner may have unfinished: bytes on the disk and in memory, descriptors, open files. An owner is
// a device, or an instance where devices are not known.
import { LIMITS, RunnelError } from "@runnel/shared";

/** Staged bytes that are kept in memory. */
const MEMORY_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Staged files, with their notes, and versions that are copied from. As many writes as an owner may have under way need
 * no more.
 */
const FILES_MAX = 4 * LIMITS.channels;

/** Returns the owner of a write. */
export function ownerOf({ device, instance }: { device: string; instance: string }): string {
  return device || instance;
}

/** Counts what the writes of one owner hold. */
export interface Allowance {
  /** Adds bytes that are staged and not yet committed. @throws Quota. */
  reserveBytes(bytes: number): void;
  releaseBytes(bytes: number): void;
  /** Adds bytes that are kept in memory. Returns false when they have to go to the disk. */
  reserveMemory(bytes: number): boolean;
  releaseMemory(bytes: number): void;
  /** Adds open files, or takes them off where `files` is less than 0. Returns false when there are too many. */
  openFiles(files: number): boolean;
  /** Adds descriptors that are held in memory, or takes them off where `descriptors` is less than 0. @throws Busy. */
  holdDescriptors(descriptors: number): void;
}

export class Allowances {
  readonly #bytesMax: number;
  readonly #bytes = new Counts();
  readonly #memoryBytes = new Counts();
  readonly #descriptors = new Counts();
  readonly #files = new Counts();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  of(owner: string): Allowance {
    return {
      reserveBytes: (bytes) => {
        if (this.#bytes.add(owner, bytes, this.#bytesMax)) return;
        throw new RunnelError("Quota", "write", "Too much is uploaded and not yet saved.", {
          detail: { limit: this.#bytesMax },
        });
      },
      releaseBytes: (bytes) => void this.#bytes.add(owner, -bytes),
      reserveMemory: (bytes) => this.#memoryBytes.add(owner, bytes, MEMORY_BYTES_MAX),
      releaseMemory: (bytes) => void this.#memoryBytes.add(owner, -bytes),
      openFiles: (files) => this.#files.add(owner, files, FILES_MAX),
      holdDescriptors: (count) => {
        if (this.#descriptors.add(owner, count, LIMITS.unfinishedDescriptors)) return;
        throw new RunnelError("Busy", "write", "The files that are being uploaded have too many chunks together.", {
          detail: { limit: LIMITS.unfinishedDescriptors, retryAfterMs: 10_000 },
        });
      },
    };
  }
}

/** Sums by owner. */
export class Counts {
  readonly #sums = new Map<string, number>();

  /** Returns false, and changes nothing, when the sum would grow above `most`. */
  add(owner: string, by: number, most = Infinity): boolean {
    const sum = (this.#sums.get(owner) ?? 0) + by;
    if (sum > most && by > 0) return false;
    if (sum > 0) this.#sums.set(owner, sum);
    else this.#sums.delete(owner);
    return true;
  }
}
