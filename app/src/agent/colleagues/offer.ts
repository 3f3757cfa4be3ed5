// Chunks of a drive's cache that colleagues may have, and who may have them: what a ticket of the server says (W197).
import {
  type ChunkSpan,
  type Clock,
  type Executor,
  LIMITS,
  type Recipe,
  type Ticket,
  type VersionId,
  chunkOffsets,
  openTicket,
  sliceRecipe,
  ticketDenied,
  wrongIn,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { UploadLimit } from "./upload-limit.ts";

/** Bytes of a run: whoever waits for it stores it when all of it has come. */
const RUN_BYTES = 256 * 1024;

export interface OfferDeps {
  cache: Cache;
  clock: Clock;
  executor: Executor;
  limit: UploadLimit;
  /** Nothing is given away while it says no: the drive is paused, or has no server whose word counts. */
  isOpen(): boolean;
  /** Nothing of what lies in a paused folder is given away. */
  isPaused(node: number): boolean;
}

/** Chunks that follow one another, read and digested. */
export interface ReadRun extends ChunkSpan {
  bytes: Uint8Array;
}

export class Offer {
  readonly #deps: OfferDeps;
  #epoch = "";
  #ticketKey: Uint8Array | undefined;
  /** The server's clock less the boot clock. */
  #serverMs = 0;
  readonly #shutOut = new Set<string>();

  constructor(deps: OfferDeps) {
    this.#deps = deps;
  }

  /** Says whether it gives away what is in this cache. */
  isOf(cache: Cache): boolean {
    return cache === this.#deps.cache;
  }

  get limit(): UploadLimit {
    return this.#deps.limit;
  }

  /** Says whether a ticket of anybody is taken now. */
  get isOpen(): boolean {
    return this.#ticketKey !== undefined && this.#deps.isOpen();
  }

  /** The server has answered an announce. `nowMs`: its clock. */
  trust(epoch: string, ticketKey: Uint8Array, nowMs: number): void {
    // Keys are of one opening of the volume: who was shut out before has no ticket of this one.
    if (this.#ticketKey === undefined || Buffer.compare(ticketKey, this.#ticketKey) !== 0) this.#shutOut.clear();
    this.#epoch = epoch;
    this.#ticketKey = ticketKey;
    this.#serverMs = nowMs - this.#deps.clock.bootMs();
  }

  /** A device has lost its right: no ticket lets it in any more. */
  shutOut(key: Uint8Array): void {
    this.#shutOut.add(textOf(key));
  }

  /** @throws Denied unless the ticket is good now, and for whoever has this key. */
  ticketFor(ticket: Uint8Array, key: Uint8Array | undefined): Ticket {
    const { isOpen } = this.#deps;
    if (this.#ticketKey === undefined || !isOpen()) throw ticketDenied("Nothing is given away here now.");
    const read = openTicket(ticket, this.#ticketKey);
    if (key === undefined || Buffer.compare(key, read.key) !== 0) throw ticketDenied("The ticket is another device's.");
    if (read.epoch !== this.#epoch) throw ticketDenied("The ticket is of another volume.");
    this.mustBeGood(read);
    return read;
  }

  /** @throws Denied when its time is over, its device was shut out, or what it is for is paused here. */
  mustBeGood({ key, version, untilMs }: Ticket): void {
    const { isOpen, isPaused } = this.#deps;
    if (!isOpen() || isPaused(version.node)) throw ticketDenied("Nothing is given away here now.");
    if (this.#shutOut.has(textOf(key))) throw ticketDenied("The device has lost its right.");
    if (untilMs <= this.#deps.clock.bootMs() + this.#serverMs) throw ticketDenied("The time of the ticket is over.");
  }

  /** Lists the chunks of a content that are here, verified or not, and not paused. */
  spansOf(content: CachedContent): ChunkSpan[] {
    const { recipe, sizeBytes, version } = content;
    if (recipe === undefined || this.#deps.isPaused(version.node)) return [];
    const absent = this.#deps.cache.absent(content, { offset: 0, length: sizeBytes });
    const offsets = chunkOffsets(recipe);
    const spans: ChunkSpan[] = [];
    let from = 0;
    for (const gap of [...absent, { offset: sizeBytes, length: 1 }]) {
      const end = firstAt(offsets, gap.offset + 1) - 1;
      if (end > from) spans.push({ from, count: end - from });
      from = Math.max(from, firstAt(offsets, gap.offset + gap.length));
    }
    return spans;
  }

  /** Brings what is here of these chunks, in order. Bytes are digested first: those that have rotted stay here. */
  async *read(version: VersionId, wanted: readonly ChunkSpan[]): AsyncGenerator<ReadRun> {
    const { cache } = this.#deps;
    const content = cache.find(version);
    if (content?.recipe === undefined) return;
    using hold = cache.hold(content);
    const { recipe } = content;
    const offsets = chunkOffsets(recipe);
    for (const span of wanted) {
      const end = Math.min(span.from + span.count, recipe.lengths.length);
      for (let from = span.from; from < end;) {
        const count = runAt(recipe, from, end);
        const run = { from, count };
        const bytes = await this.#readRun(hold.content, recipe, run, offsets);
        if (bytes !== undefined) yield { ...run, bytes };
        from += count;
      }
    }
  }

  async #readRun(
    content: CachedContent,
    recipe: Recipe,
    { from, count }: ChunkSpan,
    offsets: Float64Array,
  ): Promise<Uint8Array | undefined> {
    const { cache, executor } = this.#deps;
    const [offset = 0, end = 0] = [offsets[from], offsets[from + count]];
    if (cache.absent(content, { offset, length: end - offset }).length > 0) return undefined;
    const bytes = await cache.read(content, offset, end - offset).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const wrong = await wrongIn(bytes, sliceRecipe(recipe, from, from + count), executor);
    return wrong.length === 0 ? bytes : undefined;
  }
}

/** Counts the chunks of the next run. */
export function runAt(recipe: Recipe, from: number, end: number): number {
  let bytes = recipe.lengths[from] ?? 0;
  let count = 1;
  for (; from + count < end; count++) {
    bytes += recipe.lengths[from + count] ?? 0;
    if (bytes > RUN_BYTES || bytes > LIMITS.runBytes) break;
  }
  return count;
}

export function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString("base64url");
}

/** Returns the index of the first offset that is not below. */
function firstAt(offsets: Float64Array, offset: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((offsets[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
