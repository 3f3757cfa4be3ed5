// Uploads that an earlier process of the server detached [F34]: found at start by their notes, and resumed when their
// client asks for them.
import type { Clock, Timer } from "@runnel/shared";
import { TIMING, isRunnelError, recipeSize, wallMs } from "@runnel/shared";
import type { ResumableFile } from "../content/content-store.ts";
import { type Allowance, ownerOf } from "./allowances.ts";
import type { WriteSession } from "./write-session.ts";
import type { WriteOpening } from "./write-notes.ts";
import { decodeItem, decodeOpening } from "./write-notes.ts";

interface Detached {
  opening: WriteOpening;
  file: ResumableFile;
  /** Bytes that count against the allowance. */
  bytes: number;
  timer?: Timer;
}

export interface DetachedDeps {
  clock: Clock;
  epoch: string;
  perOwnerMax: number;
  allowance(owner: string): Allowance;
  /** Makes a suspended session of a detached file. */
  resume(opening: WriteOpening, file: ResumableFile): Promise<WriteSession>;
  warn(message: string, error?: unknown): void;
}

export class DetachedUploads {
  readonly #deps: DetachedDeps;
  readonly #detached = new Map<string, Detached>();
  #adding: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(deps: DetachedDeps) {
    this.#deps = deps;
  }

  add(files: readonly ResumableFile[]): void {
    this.#adding = this.#adding
      .then(() => this.#add(files))
      .catch((error: unknown) =>
        this.#deps.warn("Unfinished uploads of an earlier process could not be examined.", error),
      );
  }

  /** Discards what these devices have here: they may not write any more. */
  async drop(isDropped: (device: string) => boolean): Promise<void> {
    await this.#adding;
    for (const [key, detached] of this.#detached) {
      if (!isDropped(detached.opening.device)) continue;
      this.#remove(key, detached);
      await detached.file.discard();
    }
  }

  /**
   * Resumes the write of an operation, which is detached no more. @returns undefined when there is none, or when its
   * file cannot be used.
   */
  async resume(instance: string, n: number): Promise<{ session: WriteSession; device: string } | undefined> {
    await this.#adding;
    const key = keyOf({ instance, n });
    const detached = this.#detached.get(key);
    if (detached === undefined) return undefined;
    this.#remove(key, detached);
    try {
      const session = await this.#deps.resume(detached.opening, detached.file);
      return { session, device: detached.opening.device };
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      await detached.file.discard();
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#adding;
    for (const { timer } of this.#detached.values()) timer?.cancel();
    this.#detached.clear();
  }

  /** Takes the newest first: of too many the oldest go. */
  async #add(files: readonly ResumableFile[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const file of files.toSorted((one, other) => other.atMs - one.atMs)) {
      const found = await read(file);
      const owner = found === undefined ? "" : ownerOf(found.opening);
      const count = counts.get(owner) ?? 0;
      if (found === undefined || count >= this.#deps.perOwnerMax || !this.#keep(found)) await file.discard();
      else counts.set(owner, count + 1);
    }
  }

  #keep(found: Detached): boolean {
    const { clock, epoch, allowance } = this.#deps;
    const { opening, file, bytes } = found;
    const key = keyOf(opening);
    const remainingMs = file.atMs + TIMING.stagedKeepMs - wallMs(clock);
    // Ids mean something within an epoch only.
    if (opening.epoch !== epoch || remainingMs <= 0 || this.#detached.has(key)) return false;
    try {
      allowance(ownerOf(opening)).reserveBytes(bytes);
    } catch (error) {
      if (isRunnelError(error, "Quota")) return false;
      throw error;
    }
    this.#detached.set(key, found);
    if (!this.#isClosed)
      found.timer = clock.after(Math.min(remainingMs, TIMING.stagedKeepMs), () => this.#expire(key, found));
    return true;
  }

  #expire(key: string, detached: Detached): void {
    this.#remove(key, detached);
    detached.file
      .discard()
      .catch((error: unknown) =>
        this.#deps.warn("An unfinished upload of an earlier process could not be removed.", error),
      );
  }

  #remove(key: string, { opening, bytes, timer }: Detached): void {
    timer?.cancel();
    this.#detached.delete(key);
    this.#deps.allowance(ownerOf(opening)).releaseBytes(bytes);
  }
}

function keyOf({ instance, n }: Pick<WriteOpening, "instance" | "n">): string {
  return `${instance}:${n}`;
}

/** @returns undefined when it has no opening that can be read. */
async function read(file: ResumableFile): Promise<Detached | undefined> {
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
