// Reads a DiskStat as the addon writes it: eleven slots of 8 bytes in the processor's byte order, doubles but for the
// two times, which are 64-bit integers (bridge/core/results.h).
import type { DiskIdentity, DiskStat, FileType } from "@runnel/shared";

const SLOTS = 11;
const RECORD_BYTES = 8 * SLOTS;

/** The types in the order of FileType in file/stat.h. */
export const FILE_TYPES: readonly FileType[] = ["file", "folder", "symlink", "fifo", "socket", "block", "char"];

/** Type of what is not there. */
const ABSENT = -1;

/** Reads record after record of an addon's answer. */
export class StatRecords {
  readonly #numbers: Float64Array;
  readonly #times: BigInt64Array;

  constructor(records: ArrayBuffer) {
    this.#numbers = new Float64Array(records);
    this.#times = new BigInt64Array(records);
  }

  /** @returns undefined for what could be had. */
  whyNone(index: number): "absent" | "unknown" | undefined {
    const type = this.#numbers[index * SLOTS] as number;
    if (type >= 0) return undefined;
    return type === ABSENT ? "absent" : "unknown";
  }

  at(index: number): DiskStat {
    const from = index * SLOTS;
    const number = (slot: number): number => this.#numbers[from + slot] as number;
    return {
      type: FILE_TYPES[number(0)] as FileType,
      mode: number(1),
      uid: number(2),
      gid: number(3),
      sizeBytes: number(4),
      mtimeNs: this.#times[from + 5] as bigint,
      ctimeNs: this.#times[from + 6] as bigint,
      dev: number(7),
      ino: number(8),
      nlink: number(9),
      rdev: number(10),
    };
  }
}

export function readStat(record: ArrayBuffer): DiskStat {
  return new StatRecords(record).at(0);
}

/** `answer`: a record, and the handle behind it. */
export function readIdentity(answer: ArrayBuffer): DiskIdentity {
  return { stat: readStat(answer.slice(0, RECORD_BYTES)), handle: new Uint8Array(answer.slice(RECORD_BYTES)) };
}
