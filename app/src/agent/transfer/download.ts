// Brings ranges of a version into the cache: what older cached versions hold is copied there, the rest is fetched, one
// request for recipe and data together. Whoever only reads does without the recipe of a large file, and is not kept
// waiting by what is read ahead. This file decides who waits for what; arrivals.ts takes what comes.
import type { ByteRange } from "@runnel/native/drive";
import type { Difference, Executor, VersionId } from "@runnel/shared";
import { CHUNK_PRESETS, LIMITS, RunnelError, isRunnelError, presetFor } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import { endOf } from "../cache/ranges.ts";
import type { Transfer, TransferSubject, Transfers } from "../view/transfers.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Session } from "../wire/session.ts";
import { Arrivals } from "./arrivals.ts";
import type { ReuseCounts } from "./arrivals.ts";
import type { ChunkRun, ChunkSource } from "./sources/chunk-source.ts";
import { spansOf } from "./sources/chunk-spans.ts";
import { MemoryChunks } from "./sources/memory-chunks.ts";
import { ServerSource } from "./sources/server-source.ts";
import type { Sources } from "./sources/sources.ts";

const HELD_MAX = 8;

/**
 * Waiting while offline: what only reads fails at once, what changes something waits for the request timeout, like its
 * change.
 */
export type OfflineWait = "none" | "requestTimeout";

/** Multiple that ranges are rounded out to in a file with long chunks, which are not brought for a few bytes. */
const ROUND_BYTES = 16 * 1024;
/** Someone who waits for what an unasked stream brings within so much waits for that; else it is asked for. */
const NEAR_BYTES = 64 * 1024;
/** The same for whoever reads on: the kernel asks for two requests' worth at once. */
const NEAR_READING_ON_BYTES = 512 * 1024;

/** Below this the recipe of a file is not brought first, to have its chunks from elsewhere. */
const RECIPE_FIRST_BYTES = 64 * 1024;
/** Less than this comes on as it does when another source turns up. */
const LEFT_TO_OTHERS_BYTES = 1024 * 1024;

/** A server that brings what is wrong, or nothing, is not asked for ever. */
const ROUNDS_MAX = 8;

/** Stands in the server's place while it is not to bring anything. */
const NOBODY: ChunkSource = new MemoryChunks("server", "nobody");

export interface Reading {
  /** It was reading towards the range. */
  isReadingOn: boolean;
  aheadBytes?: number;
  signal?: AbortSignal;
}

/** A range that is asked for, and how. */
interface Asking {
  range: ByteRange;
  wait: OfflineWait;
  /** The recipe is wanted, too. */
  wantsRecipe: boolean;
  /** Bytes that follow the range and would be welcome. */
  aheadBytes: number;
  isReadingOn: boolean;
  /** It comes for a program that reads; left out: where nobody waits while offline. */
  isRead?: boolean;
  /** Ends what is read ahead, not what is asked for. */
  signal: AbortSignal | undefined;
}

interface Underway {
  span: ByteRange;
  /** All of it is asked for up to here; what follows comes when nothing else does. */
  askedEnd: number;
  /** Up to where it has come. */
  at: number;
  transfer: Transfer;
  bringsRecipe: boolean;
  fetched: Promise<void>;
}

export interface DownloadsDeps {
  cache: Cache;
  session: Session;
  executor: Executor;
  reused: ReuseCounts;
  transfers: Transfers;
  pauses: Passages;
  /** Asked for what the server need not bring. */
  sources: Sources;
}

export class Downloads {
  readonly #cache: Cache;
  readonly #session: Session;
  readonly #arrivals: Arrivals;
  /** Fetches under way by content; whoever waits for one of them then checks again what is missing. */
  readonly #underway = new Map<number, Set<Underway>>();
  readonly #transfers: Transfers;
  readonly #pauses: Passages;
  readonly #sources: Sources;
  readonly #listeners: ((id: number) => void)[] = [];

  constructor(deps: DownloadsDeps) {
    this.#pauses = deps.pauses;
    this.#sources = deps.sources;
    this.#cache = deps.cache;
    this.#session = deps.session;
    this.#transfers = deps.transfers;
    const { session } = deps;
    const countRecipe = (bytes: number): void => void (session.recipeBytes.received += bytes);
    const countContent = (bytes: number): void => void (session.contentBytes.received += bytes);
    this.#arrivals = new Arrivals({ ...deps, countRecipe, countContent });
  }

  /** `stored` is called with the content's id whenever some of it has come. */
  onStored(stored: (id: number) => void): void {
    this.#listeners.push(stored);
  }

  #stored(id: number): void {
    for (const stored of this.#listeners) stored(id);
  }

  /** Resolves when the range is here, though it may be unverified. @throws as `ensure`. */
  async bringAbsent(content: CachedContent, range: ByteRange, wait: OfflineWait): Promise<CachedContent> {
    let current = content;
    for (const part of this.#cache.absent(content, range)) current = await this.ensure(current, part, wait);
    return current;
  }

  /**
   * Resolves when the range is present; what has to be fetched for that comes with the recipe. @throws Unreachable,
   * Gone, Lost, Stale, NoSpace.
   */
  ensure(content: CachedContent, range: ByteRange, wait: OfflineWait): Promise<CachedContent> {
    const how = { wantsRecipe: true, aheadBytes: 0, isReadingOn: false, signal: undefined };
    return this.#bringAll(content, { ...how, range, wait });
  }

  /** Has its recipe here, where the server has one: none of its bytes. @throws as `ensure`. */
  async bringRecipe(content: CachedContent, wait: OfflineWait): Promise<CachedContent> {
    const range = { offset: 0, length: 0 };
    const how = { wantsRecipe: true, aheadBytes: 0, isReadingOn: false, signal: undefined };
    for (const one of this.#underway.get(content.id) ?? [])
      if (one.bringsRecipe) await one.fetched.catch(() => undefined);
    const current = this.#cache.byId(content.id) ?? content;
    if (current.recipe !== undefined) return current;
    await this.#begin(current, { ...how, range, wait }, range, true);
    return this.#cache.byId(content.id) ?? content;
  }

  /**
   * Brings the range to a program that waits: it goes before all that is read ahead. Resolves when the range and
   * `aheadBytes` more are present; these are fetched until `signal`. @throws as `ensure`.
   */
  async read(content: CachedContent, range: ByteRange, how: Reading): Promise<void> {
    const { isReadingOn, aheadBytes = 0, signal } = how;
    const asked = isReadingOn ? range : roundedOut(range, content.sizeBytes);
    await this.#bringAll(content, { range: asked, wait: "none", wantsRecipe: false, aheadBytes, isReadingOn, signal });
  }

  /** Brings a range that nobody waits for yet. @throws as `ensure`. */
  async readAhead(content: CachedContent, { offset, length }: ByteRange, signal: AbortSignal): Promise<void> {
    const range = { offset, length: 0 };
    const how = { wait: "none" as const, wantsRecipe: false, isReadingOn: true };
    await this.#bringAll(content, { ...how, range, aheadBytes: length, signal });
  }

  /** Brings all of a content that is to be kept here, and for which nobody waits. @throws as `ensure`. */
  async keep(content: CachedContent, signal: AbortSignal): Promise<void> {
    const range = { offset: 0, length: 0 };
    const how = { wait: "none" as const, wantsRecipe: true, isReadingOn: true, isRead: false };
    await this.#bringAll(content, { ...how, range, aheadBytes: content.sizeBytes, signal });
  }

  /** An older version is here that it may share most with. */
  holdsOlder(content: CachedContent): boolean {
    return this.#heldVersions(content).length > 0;
  }

  async #bringAll(content: CachedContent, asking: Asking): Promise<CachedContent> {
    const { range, aheadBytes, signal } = asking;
    let wanted = { offset: range.offset, length: range.length + aheadBytes };
    // Others have chunks by their digests.
    if (this.#mayComeFromOthers(content, wanted)) await this.bringRecipe(content, asking.wait);
    // A second round asks for what a held version should have and does not (a cache on disk may rot), and for what
    // turns out wrong.
    for (let asked = 0; ;) {
      if (asked > 0 || signal?.aborted === true) wanted = range;
      const current = (await this.#cache.verify(this.#cache.byId(content.id) ?? content, wanted)) ?? content;
      const span = hull(this.#cache.missing(current, wanted));
      if (span.length === 0) return current;
      const before = this.#inTheWay(current, span, asking);
      if (before !== undefined) await before.fetched.catch(() => undefined);
      else if (asked++ < ROUNDS_MAX) await this.#begin(current, asking, span, asked === 1);
      else throw new RunnelError("Corrupt", "fetch", "The server does not send what it was asked for.");
    }
  }

  #mayComeFromOthers(content: CachedContent, wanted: ByteRange): boolean {
    if (this.#sources.isEmpty || content.sizeBytes < RECIPE_FIRST_BYTES) return false;
    const absent = this.#cache.absent(content, wanted).reduce((sum, { length }) => sum + length, 0);
    return this.#sources.mayHave(absent);
  }

  /** While a recipe comes, what would bring it again waits; and whoever wants bytes that come soon. */
  #inTheWay(content: CachedContent, span: ByteRange, asking: Asking): Underway | undefined {
    const nearBytes = asking.isReadingOn ? NEAR_READING_ON_BYTES : NEAR_BYTES;
    const askedEnd = Math.min(endOf(asking.range), endOf(span));
    for (const one of this.#underway.get(content.id) ?? []) {
      if (one.bringsRecipe && this.#bringsRecipe(content, asking)) return one;
      // It does not bring again what it has passed.
      if (span.offset < one.at || span.offset >= endOf(one.span)) continue;
      if (askedEnd <= one.askedEnd || askedEnd - one.at <= nearBytes) return one;
    }
    return undefined;
  }

  #bringsRecipe(content: CachedContent, { wantsRecipe }: Asking): boolean {
    return content.recipe === undefined && (wantsRecipe || this.holdsOlder(content));
  }

  async #begin(content: CachedContent, asking: Asking, span: ByteRange, isFirst: boolean): Promise<void> {
    using passage = this.#pauses.enter("fetch", [content.version.node]);
    const all = this.#underway.get(content.id) ?? new Set();
    this.#underway.set(content.id, all);
    using fetch = this.#transfers.fetch(content.id, this.#subjectOf(content, asking), () => this.#absentBytes(content));
    const mine: Underway = {
      span,
      transfer: fetch.transfer,
      askedEnd: Math.min(endOf(span), endOf(asking.range)),
      at: span.offset,
      bringsRecipe: this.#bringsRecipe(content, asking),
      fetched: Promise.resolve(),
    };
    mine.fetched = this.#bringThroughCuts(content, asking, mine, isFirst, passage.signal);
    all.add(mine);
    try {
      await mine.fetched;
      mine.transfer.arrived(Math.max(0, endOf(span) - mine.at));
    } finally {
      all.delete(mine);
      if (all.size === 0) this.#underway.delete(content.id);
    }
  }

  /** Fetches through outages: a line that breaks repeats at most the run that it broke. */
  async #bringThroughCuts(
    content: CachedContent,
    asking: Asking,
    underway: Underway,
    isFirst: boolean,
    paused: AbortSignal,
  ): Promise<void> {
    const [session, cache] = [this.#session, this.#cache];
    const beganMs = session.nowMs;
    for (;;) {
      const mayWait = asking.wait === "requestTimeout" || session.isResponsive;
      try {
        await this.#bring(cache.byId(content.id) ?? content, asking, underway, {
          mayReuse: isFirst,
          mayCut: isFirst,
          paused,
        });
        return;
      } catch (error) {
        paused.throwIfAborted();
        // The range is asked for again, without what was to be read ahead.
        if (asking.signal?.aborted === true && isRunnelError(error, "Interrupted", "Unreachable")) return;
        if (!isRunnelError(error, "Unreachable")) throw error;
        const waitMs = mayWait ? session.timeoutLeftMs(beganMs) : session.silenceLeftMs;
        if (waitMs === 0) throw error;
        await session.responsive(waitMs);
        if (asking.signal?.aborted === true) return;
      }
    }
  }

  /** Takes a change that was pushed with the feed. @throws as Arrivals.takeDifference. */
  takeDifference(version: VersionId, difference: Difference): Promise<void> {
    return this.#arrivals.takeDifference(version, difference, (id) => this.#stored(id));
  }

  /** `mayCut`: chunks may come in parts. Those that are put together so and turn out wrong are asked for whole. */
  async #bring(
    content: CachedContent,
    asking: Asking,
    underway: Underway,
    { mayReuse, mayCut, paused }: { mayReuse: boolean; mayCut: boolean; paused: AbortSignal },
  ): Promise<void> {
    const held = mayReuse ? this.#heldVersions(content) : [];
    if (content.recipe !== undefined)
      await this.#arrivals.reuse(content, content.recipe, held, underway.span, underway.transfer);
    const { offset, length } = hull(this.#cache.missing(content, underway.span));
    const isRecipeMissing = content.recipe === undefined && asking.wantsRecipe;
    if (length === 0 && !isRecipeMissing) return;
    if (content.recipe !== undefined && this.#mayComeFromOthers(content, { offset, length }))
      return this.#bringFromSources(content, asking, underway, held, paused);
    this.#session.mustRespond();
    const channel = this.#session.open(
      "fetch",
      {
        version: [content.version.node, content.version.seq],
        held: held.map(({ version }) => [version.node, version.seq]),
        hasRecipe: content.recipe !== undefined,
        offset,
        length,
        ...(asking.wantsRecipe ? {} : { part: mayCut ? partBytes(content.sizeBytes) : LIMITS.runBytes }),
        ...(asking.aheadBytes > 0 ? { asked: Math.max(0, Math.min(length, underway.askedEnd - offset)) } : {}),
      },
      true,
    );
    using holds = new DisposableStack();
    for (const one of held) holds.use(this.#cache.hold(one));
    const stop = (): void => channel.cancel();
    const stored = (end: number): void => {
      underway.transfer.arrived(Math.max(0, end - underway.at));
      underway.at = Math.max(underway.at, end);
      this.#stored(content.id);
    };
    for (const signal of [asking.signal, paused]) signal?.addEventListener("abort", stop);
    let hasNewSource = false;
    // A stick that is plugged in while a large file comes: the rest is looked for there.
    holds.use(
      this.#sources.onAdded(() => {
        const rest = endOf(underway.span) - underway.at;
        // The recipe comes first, and soon.
        const isRecipeComing = underway.bringsRecipe && this.#cache.byId(content.id)?.recipe === undefined;
        if (isRecipeComing || rest < LEFT_TO_OTHERS_BYTES || !this.#sources.mayHave(rest)) return;
        hasNewSource = true;
        channel.cancel();
      }),
    );
    try {
      const { span, transfer } = underway;
      const received = this.#arrivals.receive({ channel, content, held, transfer }, span, stored);
      await this.#session.whileItComes(received, "fetch");
    } catch (error) {
      channel.cancel();
      if (hasNewSource && isRunnelError(error, "Interrupted")) {
        await this.#bringFromNewSource(content, asking, underway, paused);
        return;
      }
      // A cache on disk may rot: what came of the bytes of a held version is asked for once more, without it.
      if (held.length === 0 || !isRunnelError(error, "Corrupt", "Gone")) throw error;
      const current = this.#cache.byId(content.id) ?? content;
      await this.#bring(current, asking, underway, { mayReuse: false, mayCut, paused });
    } finally {
      for (const signal of [asking.signal, paused]) signal?.removeEventListener("abort", stop);
    }
  }

  /** Goes on with what a fetch has not brought yet: the recipe first, and what it names from wherever that is. */
  async #bringFromNewSource(
    content: CachedContent,
    asking: Asking,
    underway: Underway,
    paused: AbortSignal,
  ): Promise<void> {
    const how = { mayReuse: false, mayCut: false, paused };
    if ((this.#cache.byId(content.id) ?? content).recipe === undefined) {
      const nothing = { ...underway, span: { offset: 0, length: 0 }, askedEnd: 0 };
      const range = { offset: 0, length: 0 };
      await this.#bring(content, { ...asking, range, aheadBytes: 0, wantsRecipe: true }, nothing, how);
    }
    const current = this.#cache.byId(content.id) ?? content;
    await this.#bring(current, asking, underway, how);
  }

  /** Brings what is missing from wherever it is, from the server what no other source has. */
  async #bringFromSources(
    content: CachedContent,
    asking: Asking,
    underway: Underway,
    held: readonly CachedContent[],
    paused: AbortSignal,
  ): Promise<void> {
    const { recipe } = content;
    if (recipe === undefined) return;
    const [cache, arrivals, session] = [this.#cache, this.#arrivals, this.#session];
    const { span, transfer, askedEnd } = underway;
    const take = async (run: ChunkRun, source: ChunkSource): Promise<void> => {
      await arrivals.store(content, recipe, run);
      if (source.kind !== "server") transfer.came(source.kind, run.bytes.length);
      transfer.arrived(run.bytes.length);
      underway.at = Math.max(underway.at, this.#cache.missing(content, span)[0]?.offset ?? endOf(span));
      this.#stored(content.id);
    };
    const bring = (base: readonly CachedContent[]): Promise<void> =>
      this.#sources.bring({
        content: { version: content.version, sizeBytes: content.sizeBytes, recipe },
        spans: spansOf(recipe, cache.missing(content, span)),
        isWaitedFor: asking.range.length > 0,
        server: new ServerSource({ cache, session, arrivals }, { content, held: base, transfer, askedEnd }),
        take,
        signal: asking.signal === undefined ? paused : AbortSignal.any([asking.signal, paused]),
      });
    try {
      await bring(held);
    } catch (error) {
      // The bytes of a held version may be wrong, as in `#bring`.
      if (held.length === 0 || !isRunnelError(error, "Corrupt", "Gone")) throw error;
      await bring([]);
    }
  }

  /**
   * Brings what is missing of a content whose recipe is here from other sources than the server. Resolves when they
   * have no more. @throws why `signal` was aborted, NoSpace, Io.
   */
  async bringFromOthers(
    content: CachedContent,
    isWaitedFor: boolean,
    transfer: Transfer,
    signal: AbortSignal,
  ): Promise<void> {
    const { version, sizeBytes, recipe } = content;
    if (recipe === undefined) return;
    await this.#sources.bring({
      content: { version, sizeBytes, recipe },
      spans: spansOf(recipe, this.#cache.missing(content, { offset: 0, length: sizeBytes })),
      isWaitedFor,
      server: NOBODY,
      take: async (run, source) => {
        await this.#arrivals.store(content, recipe, run);
        if (source.kind !== "server") transfer.came(source.kind, run.bytes.length);
        transfer.arrived(run.bytes.length);
      },
      signal,
    });
    this.#stored(content.id);
  }

  /** Older versions that are here whole; the newest first. */
  #heldVersions(content: CachedContent): CachedContent[] {
    return this.#cache
      .versionsOf(content.version.node)
      .filter((other) => other.id !== content.id && other.recipe !== undefined && this.#isWhole(other))
      .slice(0, HELD_MAX);
  }

  #subjectOf({ version, sizeBytes }: CachedContent, { wait, isRead = wait === "none" }: Asking): TransferSubject {
    return { direction: "down", file: version.node, totalBytes: sizeBytes, isRead };
  }

  #absentBytes(content: CachedContent): number {
    const absent = this.#cache.absent(content, { offset: 0, length: content.sizeBytes });
    return absent.reduce((sum, { length }) => sum + length, 0);
  }

  #isWhole(content: CachedContent): boolean {
    return this.#cache.absent(content, { offset: 0, length: content.sizeBytes }).length === 0;
  }
}

/**
 * Bytes up to which chunks come whole: who reads some of a file does without its recipe; chunks up to this come whole
 * [W141]: all of a file that is not very large.
 */
function partBytes(sizeBytes: number): number {
  return presetFor(sizeBytes) === 0 ? CHUNK_PRESETS[0].maxBytes : ROUND_BYTES;
}

function roundedOut({ offset, length }: ByteRange, sizeBytes: number): ByteRange {
  if (presetFor(sizeBytes) === 0) return { offset, length };
  const from = offset - (offset % ROUND_BYTES);
  const end = Math.min(sizeBytes, Math.ceil((offset + length) / ROUND_BYTES) * ROUND_BYTES);
  return { offset: from, length: end - from };
}

function hull(ranges: readonly ByteRange[]): ByteRange {
  const first = ranges[0];
  const last = ranges.at(-1);
  if (first === undefined || last === undefined) return { offset: 0, length: 0 };
  return { offset: first.offset, length: last.offset + last.length - first.offset };
}
