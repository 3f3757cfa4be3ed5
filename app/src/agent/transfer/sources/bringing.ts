// Brings chunks of one content from several sources at a time (DOT §4.3: multi-path). The cheapest that has a chunk is
// asked for it; what is late is asked for elsewhere, too, and the first that comes counts. Of one that is slow, the
// dearest source borrows while somebody waits. Nobody is believed: each chunk is digested.
import type { Clock, Executor, Timer } from "@runnel/shared";
import { chunkOffsets, commonSpans, indexesOf, joinIndexes, sliceRecipe, spansFrom, wrongIn } from "@runnel/shared";
import { Borrowing } from "./borrowing.ts";
import { COSTS, type ChunkRun, type ChunkSource, type ChunkSpan, type WantedContent } from "./chunk-source.ts";

/** Bytes that a source is asked for at once, and how often, so that it never waits for the next question. */
const PIECE_BYTES = 4 * 1024 * 1024;
const PIECES_AT_ONCE = 2;
/** Sources told apart by bits. */
const SOURCES_MAX = 30;

/** Takes chunks that are right; resolves when they are stored. */
export type Take = (run: ChunkRun, source: ChunkSource) => Promise<void>;

interface Wanted {
  content: WantedContent;
  spans: readonly ChunkSpan[];
  take: Take;
  /** A program waits for it. */
  isWaitedFor: boolean;
  signal: AbortSignal;
}

/** Called when a source is to be left alone. */
export type Drop = (source: ChunkSource, why: string, isForGood: boolean) => void;

interface BringingDeps {
  clock: Clock;
  executor: Executor;
  lateMs(): number;
}

/** Question to a source that is not answered yet, and the places of what it is for. */
interface Question {
  places: readonly number[];
  sinceMs: number;
}

/** A source at work. */
interface Lane {
  source: ChunkSource;
  bit: number;
  /** The oldest first. */
  asked: Set<Question>;
  isLocating: boolean;
  /** When it was asked first, and what it has brought since. */
  beganMs: number;
  broughtBytes: number;
  /** When it said last that what it was asked for is on its way. */
  saidMs: number;
  /** When it was asked or brought something last. */
  sinceMs: number;
  isLate: boolean;
  isOver: boolean;
  /** Place in the order from which it looks for what to bring next. */
  cursor: number;
}

export class Bringing {
  /** Resolves when all has been taken, or nobody has more. @throws what the dearest source does, and `take`. */
  readonly done: Promise<void>;
  readonly #deps: BringingDeps;
  readonly #wanted: Wanted;
  readonly #drop: Drop;
  readonly #lanes: Lane[];
  /** Chunks in the order in which they are wanted, and their places in it. */
  readonly #order: readonly number[];
  readonly #places: ReadonlyMap<number, number>;
  /** Bits of the lanes that may have a chunk, and of those that were asked for it, by place. */
  readonly #has: Uint32Array;
  readonly #askedOf: Uint32Array;
  readonly #isTaken: Uint8Array;
  readonly #borrowing = new Borrowing();
  readonly #ended = new AbortController();
  readonly #finish: { resolve(): void; reject(error: unknown): void };
  /** Chunks that are not stored yet, and runs that are being stored. */
  #left: number;
  #storing = 0;
  #timer: Timer | undefined;
  #isOver = false;
  #failure: unknown;

  /** `sources`: the cheapest first, and last the one that is to have all. */
  constructor(deps: BringingDeps, wanted: Wanted, sources: readonly ChunkSource[], drop: Drop) {
    this.#deps = deps;
    this.#wanted = wanted;
    this.#drop = drop;
    this.#order = [...indexesOf(wanted.spans)];
    this.#places = new Map(this.#order.map((index, place) => [index, place]));
    this.#left = this.#order.length;
    this.#isTaken = new Uint8Array(this.#left);
    this.#askedOf = new Uint32Array(this.#left);
    const sinceMs = deps.clock.bootMs();
    this.#lanes = [...sources.slice(0, -1).slice(0, SOURCES_MAX), ...sources.slice(-1)].map((source, number) => ({
      source,
      bit: 1 << number,
      asked: new Set(),
      beganMs: sinceMs,
      broughtBytes: 0,
      saidMs: -Infinity,
      isLocating: number < Math.min(sources.length - 1, SOURCES_MAX),
      sinceMs,
      isLate: false,
      isOver: false,
      cursor: 0,
    }));
    // Until it has said what it has, a cheaper source may have it all.
    this.#has = new Uint32Array(this.#left).fill(this.#lanes.reduce((bits, { bit }) => bits | bit, 0));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.done = promise;
    this.#finish = { resolve, reject };
    wanted.signal.addEventListener("abort", this.#aborted);
    for (const lane of this.#lanes) if (lane.isLocating) void this.#locate(lane);
    this.#step();
  }

  readonly #aborted = (): void => this.#end(this.#wanted.signal.reason);

  async #locate(lane: Lane): Promise<void> {
    const { content, spans } = this.#wanted;
    let located: readonly ChunkSpan[] = [];
    try {
      located = await lane.source.locate(content, spans, this.#ended.signal);
    } catch {
      lane.isOver = true;
    }
    const found = new Set<number>();
    for (const index of indexesOf(commonSpans(spansFrom(spans), spansFrom(located))))
      found.add(this.#places.get(index) ?? -1);
    for (let place = 0; place < this.#has.length; place++) if (!found.has(place)) this.#lose(lane, place);
    lane.isLocating = false;
    lane.isLate = false;
    this.#step();
  }

  /** Has every source do what it can do now; ends when none can do anything. */
  #step(): void {
    if (this.#isOver) return;
    if (this.#left === 0) return this.#end();
    this.#noteLate();
    for (const lane of this.#lanes) {
      while (!lane.isOver && !lane.isLocating && lane.asked.size < PIECES_AT_ONCE) {
        const places = this.#pieceFor(lane);
        if (places.length === 0) break;
        void this.#ask(lane, places);
      }
    }
    const borrowed = this.#borrowed();
    if (borrowed !== undefined) void this.#ask(borrowed.borrower, borrowed.places, borrowed.lender);
    // Late chunks are welcome, and not waited for.
    const isBusy = this.#lanes.some(({ asked, isLocating, isLate }) => (asked.size > 0 || isLocating) && !isLate);
    if (!isBusy && this.#storing === 0) return this.#end(this.#failure);
    this.#arm();
  }

  /** A source that says nothing for too long holds nobody up; what it brings after all is welcome. */
  #noteLate(): void {
    const nowMs = this.#deps.clock.bootMs();
    for (const lane of this.#lanes.slice(0, -1)) {
      if (lane.isLate || !isAtWork(lane) || nowMs - lane.sinceMs < this.#lateMs(lane)) continue;
      lane.isLate = true;
      this.#drop(lane.source, "does not answer", false);
    }
  }

  #lateMs({ source }: Lane): number {
    return Math.max(this.#deps.lateMs(), source.lateMs ?? 0);
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const busy = this.#lanes.slice(0, -1).filter((lane) => !lane.isLate && isAtWork(lane));
    if (busy.length === 0) return;
    const nowMs = this.#deps.clock.bootMs();
    const dues = busy.flatMap((lane) => {
      const lateMs = lane.sinceMs + this.#lateMs(lane);
      const borrowedMs = this.#borrowedFromMs(lane);
      return borrowedMs !== undefined && borrowedMs > nowMs ? [lateMs, borrowedMs] : [lateMs];
    });
    this.#timer = this.#deps.clock.after(Math.max(1, Math.min(...dues) - nowMs), () => this.#step());
  }

  /**
   * @returns when what a source has not brought by then may be borrowed; undefined when it may not. Colleagues are as
   * slow as the line by which one of them has it first: what they are asked for is not taken over it again.
   */
  #borrowedFromMs({ asked, saidMs, source }: Lane): number | undefined {
    if (COSTS[source.kind] >= COSTS.colleague) return undefined;
    const [oldest] = asked;
    if (oldest === undefined || !this.#wanted.isWaitedFor || this.#borrowing.bytesMax === 0) return undefined;
    return Math.max(oldest.sinceMs, saidMs) + this.#deps.lateMs();
  }

  /**
   * Finds what the dearest source, which has nothing to do, may bring in place of another one that is slow: the last of
   * what that was asked for first, since it goes on with the first of it.
   */
  #borrowed(): { borrower: Lane; lender: Lane; places: number[] } | undefined {
    const borrower = this.#lanes.at(-1);
    if (borrower === undefined || borrower.isOver || borrower.asked.size > 0) return undefined;
    const { lengths } = this.#wanted.content.recipe;
    const nowMs = this.#deps.clock.bootMs();
    for (const lender of this.#lanes.slice(0, -1)) {
      const fromMs = this.#borrowedFromMs(lender);
      if (lender.isLate || lender.isOver || fromMs === undefined || fromMs > nowMs) continue;
      for (const { places: asked, sinceMs } of lender.asked) {
        if (nowMs - sinceMs < this.#deps.lateMs()) break;
        const places: number[] = [];
        let bytes = 0;
        for (const place of asked.toReversed()) {
          if (this.#isTaken[place] === 1 || ((this.#has[place] ?? 0) & borrower.bit) === 0) continue;
          if (bytes >= this.#borrowing.bytesMax) break;
          places.unshift(place);
          bytes += lengths[this.#order[place] ?? 0] ?? 0;
        }
        if (places.length > 0) return { borrower, lender, places };
      }
    }
    return undefined;
  }

  /** Places of the chunks that a source is to bring next. The dearest gets all of its at once: a line has a delay. */
  #pieceFor(lane: Lane): number[] {
    const { recipe } = this.#wanted.content;
    const late = this.#lanes.reduce((bits, one) => bits | (one.isLate || one.isOver ? one.bit : 0), 0);
    const cheaper = this.#lanes.reduce(
      (bits, one) => bits | (COSTS[one.source.kind] < COSTS[lane.source.kind] ? one.bit : 0),
      0,
    );
    const bytesMax = lane === this.#lanes.at(-1) ? Infinity : PIECE_BYTES;
    const places: number[] = [];
    let bytes = 0;
    for (let tried = 0; tried < this.#order.length && bytes < bytesMax; tried++) {
      const place = (lane.cursor + tried) % this.#order.length;
      const [has, asked] = [this.#has[place] ?? 0, this.#askedOf[place] ?? 0];
      const isHis = this.#isTaken[place] === 0 && (has & lane.bit) !== 0 && (asked & lane.bit) === 0;
      if (!isHis || (asked & ~late) !== 0 || (has & cheaper & ~late) !== 0) continue;
      places.push(place);
      bytes += recipe.lengths[this.#order[place] ?? 0] ?? 0;
    }
    lane.cursor = places.length === 0 ? 0 : ((places.at(-1) ?? 0) + 1) % this.#order.length;
    return places;
  }

  /** `lender`: the source whose chunks these were to be. */
  async #ask(lane: Lane, places: readonly number[], lender?: Lane): Promise<void> {
    const { source, bit, broughtBytes: before } = lane;
    for (const place of places) this.#askedOf[place] = (this.#askedOf[place] ?? 0) | bit;
    const question = { places, sinceMs: this.#deps.clock.bootMs() };
    if (lane.asked.size === 0) lane.sinceMs = question.sinceMs;
    lane.asked.add(question);
    try {
      const spans = joinIndexes(places.map((place) => this.#order[place] ?? 0));
      const runs = source.get(this.#wanted.content, spans, this.#ended.signal)[Symbol.asyncIterator]();
      for (let next = await runs.next(); next.done !== true; next = await runs.next()) {
        const nowMs = this.#deps.clock.bootMs();
        lane.sinceMs = nowMs;
        lane.isLate = false;
        // Others may have brought all of it meanwhile.
        if (this.#isOver || lane.isOver || places.every((place) => this.#isTaken[place] === 1)) {
          void runs.return?.().catch(() => undefined);
          break;
        }
        if (next.value.count === 0) lane.saidMs = nowMs;
        else await this.#take(lane, next.value);
      }
    } catch (error) {
      if (this.#isOver) return;
      lane.isOver = true;
      if (lane === this.#lanes.at(-1)) this.#failure = error;
      else this.#drop(source, "failed", false);
    }
    lane.asked.delete(question);
    if (lender !== undefined) {
      const nowMs = this.#deps.clock.bootMs();
      const lenderRate = lender.broughtBytes / Math.max(1, nowMs - lender.beganMs);
      this.#borrowing.brought(lane.broughtBytes - before, nowMs - question.sinceMs, lenderRate);
    }
    for (const place of places) this.#lose(lane, place);
    this.#step();
  }

  /** The source does not have the chunk, or has brought what it has. */
  #lose({ bit }: Lane, place: number): void {
    this.#has[place] = (this.#has[place] ?? 0) & ~bit;
    this.#askedOf[place] = (this.#askedOf[place] ?? 0) & ~bit;
  }

  /** Digests what came; what is right and new is taken. */
  async #take(lane: Lane, { from, count, bytes, isGivenUp }: ChunkRun): Promise<void> {
    if (isGivenUp) return this.#giveUp(lane, { from, count });
    const { content } = this.#wanted;
    const { recipe } = content;
    const offsets = chunkOffsets(recipe);
    const start = offsets[from];
    const isWhole = start !== undefined && count > 0 && offsets[from + count] === start + bytes.length;
    if (!isWhole) return this.#caught(lane);
    const wrong = await wrongIn(bytes, sliceRecipe(recipe, from, from + count), this.#deps.executor);
    if (this.#isOver) return;
    for (const at of wrong) {
      lane.source.wrong(content, from + at);
      const place = this.#places.get(from + at);
      if (place !== undefined) this.#lose(lane, place);
    }
    const came = [...indexesOf([{ from, count }])];
    const right = came.filter((index) => this.#isNew(index) && !wrong.includes(index - from));
    for (const index of right) this.#isTaken[this.#places.get(index) ?? 0] = 1;
    this.#storing++;
    for (const span of joinIndexes(right)) {
      const [first, end] = [offsets[span.from] ?? 0, offsets[span.from + span.count] ?? 0];
      try {
        await this.#wanted.take({ ...span, bytes: bytes.subarray(first - start, end - start) }, lane.source);
      } catch (error) {
        return this.#end(error);
      }
      this.#left -= span.count;
      lane.broughtBytes += end - first;
    }
    this.#storing--;
    if (wrong.length > 0 && !lane.source.mayRot) this.#caught(lane);
    if (this.#left === 0) this.#step();
  }

  #giveUp(lane: Lane, { from, count }: ChunkSpan): void {
    const end = Math.min(from + count, this.#wanted.content.recipe.lengths.length);
    for (let index = from; index < end; index++) {
      const place = this.#places.get(index);
      if (place !== undefined) this.#lose(lane, place);
    }
    this.#step();
  }

  #isNew(index: number): boolean {
    const place = this.#places.get(index);
    return place !== undefined && this.#isTaken[place] === 0;
  }

  #caught(lane: Lane): void {
    if (lane === this.#lanes.at(-1) || lane.isOver) return;
    lane.isOver = true;
    this.#drop(lane.source, "sent what it was not asked for", true);
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#wanted.signal.removeEventListener("abort", this.#aborted);
    this.#ended.abort();
    if (error === undefined) this.#finish.resolve();
    else this.#finish.reject(error);
  }
}

function isAtWork({ asked, isLocating, isOver }: Lane): boolean {
  return !isOver && (asked.size > 0 || isLocating);
}
