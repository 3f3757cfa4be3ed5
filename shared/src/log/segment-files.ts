// The segment files that a log holds open. A file that is being read stays open until the read has ended.
import { RunnelError } from "../errors.ts";
import type { DiskFile } from "../host/disk.ts";
import type { SegmentHeader } from "./segment-format.ts";

export interface Segment {
  header: SegmentHeader;
  file: DiskFile;
  /** Length of the file; of the current segment, what was written so far. */
  sizeBytes: number;
}

interface Held {
  segment: Segment;
  uses: number;
  /** Set when it is to be closed: called when nobody uses it. */
  unused: (() => void) | undefined;
}

export class SegmentFiles {
  readonly #held = new Map<number, Held>();

  /** Adds a segment; segments are added in order of their numbers. */
  add(segment: Segment): void {
    this.#held.set(segment.header.segment, { segment, uses: 0, unused: undefined });
  }

  get numbers(): number[] {
    return [...this.#held.keys()];
  }

  /** @throws RunnelError Gone when it has been dropped or never was. */
  async use<T>(number: number, act: (segment: Segment) => Promise<T>): Promise<T> {
    const held = this.#held.get(number);
    if (held === undefined) throw new RunnelError("Gone", "read log", `Segment ${number} of the log has been dropped.`);
    held.uses += 1;
    try {
      return await act(held.segment);
    } finally {
      held.uses -= 1;
      if (held.uses === 0) held.unused?.();
    }
  }

  /** Closes a file as soon as nobody uses it; it can be used no more from now on. */
  async drop(number: number): Promise<void> {
    const held = this.#held.get(number);
    if (held === undefined) return;
    this.#held.delete(number);
    if (held.uses > 0) {
      await new Promise<void>((resolve) => {
        held.unused = resolve;
      });
    }
    await held.segment.file.close();
  }

  async dropAll(): Promise<void> {
    for (const number of this.numbers) await this.drop(number);
  }
}
