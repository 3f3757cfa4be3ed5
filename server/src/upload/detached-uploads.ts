// Unfinished writes that an earlier life of the server left [F34]: found at start by their notes, and taken up when their client asks for them.
import type { Clock, Timer } from "@runnel/shared";
import { TIMING, isRunnelError, recipeSize } from "@runnel/shared";
import type { ResumableFile } from "../content/content-store.ts";
import type { Allowance } from "./resumable-uploads.ts";
import type { WriteSession } from "./write-session.ts";
import type { WriteOpening } from "./write-notes.ts";
import { decodeItem, decodeOpening } from "./write-notes.ts";

interface Left {
  opening: WriteOpening;
  file: ResumableFile;
  /** Of the allowance. */
  bytes: number;
  timer?: Timer;
}

export interface LeftParts {
  clock: Clock;
  epoch: string;
  keptPerInstance: number;
  allowance(instance: string): Allowance;
  /** Of what its notes tell. */
  takeUp(opening: WriteOpening, file: ResumableFile): Promise<WriteSession>;
  warn(message: string, error?: unknown): void;
}

export class LeftWrites {
  readonly #parts: LeftParts;
  readonly #left = new Map<string, Left>();
  #finding: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(parts: LeftParts) {
    this.#parts = parts;
  }

  found(files: readonly ResumableFile[]): void {
    this.#finding = this.#finding
      .then(() => this.#find(files))
      .catch((error: unknown) => this.#parts.warn("Unfinished uploads of before could not be looked at.", error));
  }

  /** One by these numbers, as its write goes on with it; it is left no more. */
  async take(instance: string, n: number): Promise<WriteSession | undefined> {
    await this.#finding;
    const key = keyOf({ instance, n });
    const left = this.#left.get(key);
    if (left === undefined) return undefined;
    this.#forget(key, left);
    try {
      return await this.#parts.takeUp(left.opening, left.file);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      await left.file.discard();
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#finding;
    for (const { timer } of this.#left.values()) timer?.cancel();
    this.#left.clear();
  }

  /** The newest first: of too many the oldest go. */
  async #find(files: readonly ResumableFile[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const file of files.toSorted((one, other) => other.atMs - one.atMs)) {
      const found = await read(file);
      const instance = found?.opening.instance ?? "";
      const count = counts.get(instance) ?? 0;
      if (found === undefined || count >= this.#parts.keptPerInstance || !this.#keep(found)) await file.discard();
      else counts.set(instance, count + 1);
    }
  }

  #keep(found: Left): boolean {
    const { clock, epoch, allowance } = this.#parts;
    const { opening, file, bytes } = found;
    const key = keyOf(opening);
    const leftMs = file.atMs + TIMING.stagedKeepMs - Number(clock.wallNs() / NS_PER_MS);
    // Ids mean something within an epoch only.
    if (opening.epoch !== epoch || leftMs <= 0 || this.#left.has(key)) return false;
    try {
      allowance(opening.instance).take(bytes);
    } catch (error) {
      if (isRunnelError(error, "Quota")) return false;
      throw error;
    }
    this.#left.set(key, found);
    if (!this.#isClosed)
      found.timer = clock.after(Math.min(leftMs, TIMING.stagedKeepMs), () => this.#expire(key, found));
    return true;
  }

  #expire(key: string, left: Left): void {
    this.#forget(key, left);
    left.file
      .discard()
      .catch((error: unknown) => this.#parts.warn("An unfinished upload of before could not be removed.", error));
  }

  #forget(key: string, { opening, bytes, timer }: Left): void {
    timer?.cancel();
    this.#left.delete(key);
    this.#parts.allowance(opening.instance).giveBack(bytes);
  }
}

const NS_PER_MS = 1_000_000n;

function keyOf({ instance, n }: Pick<WriteOpening, "instance" | "n">): string {
  return `${instance}:${n}`;
}

/** undefined: it has no opening that can be read. */
async function read(file: ResumableFile): Promise<Left | undefined> {
  let opening: WriteOpening | undefined;
  let bytes = 0;
  for await (const { note } of file.notes()) {
    if (opening === undefined) {
      opening = decodeOpening(note);
      if (opening === undefined) return undefined;
      continue;
    }
    const item = decodeItem(note);
    if (item?.[0] === "d") bytes += recipeSize(item[1]);
  }
  return opening && { opening, file, bytes };
}
