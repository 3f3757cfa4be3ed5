// Opens and reads: which cached content a program reads from, and bringing what is missing.
import type { ByteRange, Drive } from "@runnel/native/drive";
import type { Clock, NodeState, VersionId } from "@runnel/shared";
import { RecentMap, RunnelError, isRunnelError, sleep } from "@runnel/shared";
import type { Cache, CachedContent, Hold } from "../cache/cache.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Downloads } from "../transfer/download.ts";
import type { OwnRecipes } from "../transfer/own-recipes.ts";
import type { ReadAhead } from "../transfer/read-ahead.ts";
import type { PushSubscriptions } from "../transfer/push-subscriptions.ts";
import type { Session } from "../wire/session.ts";
import type { RequestOfOp } from "./request-of-op.ts";
import type { Tree } from "./tree.ts";

/**
 * Files up to this size come whole; of larger ones what is read, and for whoever reads on ever more of what follows.
 */
const WHOLE_FILE_BYTES = 64 * 1024;
/** Files of which an older version is here come whole, too: little of them is new. */
const CHANGED_FILE_BYTES = 4 * 1024 * 1024;
/** Bytes asked for ahead at least of a program that reads on; else half of what it has read at once. */
const LEAST_AHEAD_BYTES = 512 * 1024;
/** Places in one content where programs read on. */
const READING_ON_MAX = 4;
/**
 * A file that has no space here is read on in its own place once so much of it is here: less would be started over at
 * every read.
 */
const START_OVER_BYTES = 2 * 1024 * 1024;
/** Longest wait for the space that starting over is to give. */
const SPACE_MS_MAX = 10_000;
/** Interval at which that is probed. */
const SPACE_PROBE_MS = 50;
/** A program asks for more of a content that has been edited at once, or never. */
const EDITS_MAX = 1024;
/** Contents that the drive has since they were saved, before anybody asked for them. */
const SAVED_MAX = 4_096;
/** Cached bytes are read for so long before they are digested anew: disks rot while the agent runs. */
const VERIFIED_FOR_MS = 60 * 60_000;

/** A program that waits for a range. */
interface Awaited {
  range: ByteRange;
  arrived(): void;
}

/** A program reads on from here: what it comes to next is asked for already. */
interface ReadingOn {
  from: number;
  askedTo: number;
  /** Ends what nobody waits for. */
  stop: AbortController;
}

export interface ContentsDeps {
  drive: Drive;
  tree: Tree;
  cache: Cache;
  downloads: Downloads;
  ownRecipes: OwnRecipes;
  readAhead: ReadAhead;
  subscriptions: PushSubscriptions;
  pauses: Passages;
  session: Pick<Session, "lineIsThere" | "isResponsive">;
  clock: Clock;
  settled(node: number): Promise<void>;
}

export class Contents {
  readonly #deps: ContentsDeps;
  /** Programs that wait, by content. */
  readonly #awaited = new Map<number, Set<Awaited>>();
  /** Places where programs read on, by content; the last one to begin comes last. */
  readonly #readingOn = new Map<number, ReadingOn[]>();
  /** Contents given to the drive, held against eviction while their node is open. */
  readonly #held = new Map<number, Map<number, Hold>>();
  /** Number of programs that wait for some of it, by content. */
  readonly #fetching = new Map<number, number>();
  /** Version that is read in place of a content, by content: a program that had this open asks for more of that. */
  readonly #edits = new RecentMap<number, VersionId>(EDITS_MAX);
  /** Contents that are to take another's place, by that one. */
  readonly #startingOver = new Map<number, Promise<CachedContent>>();
  /** Time until which space for a content may still come. */
  readonly #freeingUntilMs = new Map<number, number>();
  /**
   * Contents that the drive may read from: the version that each was when the drive got it, and when that was. In the
   * order of `sinceMs`.
   */
  readonly #given = new Map<number, { version: VersionId; sinceMs: number }>();

  /** Contents that it was given as they were saved, by id; the oldest first. */
  readonly #saved: number[] = [];

  constructor(deps: ContentsDeps) {
    this.#deps = deps;
    this.#deps.cache.onEvicting((id) => this.#mayEvict(id));
    this.#deps.downloads.onStored((id) => this.#stored(id));
  }

  /** `isOffline`: answered from the cache or not at all. */
  async open(request: RequestOfOp<"open">, isOffline: boolean): Promise<void> {
    const { drive, tree, readAhead, subscriptions, pauses, settled } = this.#deps;
    await settled(tree.real(request.node));
    const state = await tree.node(request.node);
    drive.putNode(tree.entry(state, request.node), false);
    if (state.version === 0 || state.sizeBytes === 0)
      return drive.opened(request.id, { content: 0, version: state.version });
    if (!request.wantsWrite) readAhead.opened(state);
    if (!pauses.isPaused([state.node])) subscriptions.opened(state.node, state.version);
    using hold = await this.#contentOf(state, isOffline);
    const { content } = hold;
    this.hold(content);
    this.give(content);
    this.#learnRecipe(content);
    drive.opened(request.id, { content: content.id, version: state.version });
  }

  /**
   * Answers a program that waits in read(2), also where the whole file has no space here. @returns true when what was
   * read of it before gave way.
   */
  async fetch(request: RequestOfOp<"fetch">): Promise<boolean> {
    const content = this.#edits.has(request.content)
      ? await this.#editOf(request.content)
      : this.#deps.cache.byId(request.content);
    if (content === undefined) throw new RunnelError("Gone", "read", "The content is no longer in the cache.");
    for (let { ahead } = request; ; ahead = 0) {
      try {
        await this.#bringFor(content, request, ahead);
        this.#deps.drive.done(request.id);
        return false;
      } catch (error) {
        if (isRunnelError(error, "NoSpace") && this.#isFreeingSpace(content))
          await sleep(this.#deps.clock, SPACE_PROBE_MS);
        else {
          await this.#startedOver(content, error);
          // The drive releases what it waited for, which takes space until then, and asks for the same of what is in
          // its place.
          this.#deps.drive.done(request.id);
          return true;
        }
      }
    }
  }

  /**
   * Returns whether it was started over just now: what was in its place takes space until the last request for that has
   * been answered.
   */
  #isFreeingSpace({ id }: CachedContent): boolean {
    const untilMs = this.#freeingUntilMs.get(id);
    if (untilMs === undefined) return false;
    if (this.#deps.clock.bootMs() < untilMs) return true;
    this.#freeingUntilMs.delete(id);
    return false;
  }

  /**
   * Ranges of a content for a program that waits in read(2): it goes on as soon as they are here, while what follows
   * still comes.
   */
  async #bringFor(content: CachedContent, { offset, length }: ByteRange, ahead: number): Promise<void> {
    const { drive, cache, readAhead, subscriptions } = this.#deps;
    const needed = { offset, length };
    this.#fetching.set(content.id, (this.#fetching.get(content.id) ?? 0) + 1);
    try {
      await readAhead.arrived(content);
      await subscriptions.arrived(content.version);
      const successor = this.#successorOf(content);
      if (successor !== content) await this.#takeFrom(successor, content, needed);
      else {
        const arriving = this.#bring(content, needed, ahead);
        await Promise.race([arriving, this.#arrival(content, needed, arriving)]);
      }
    } finally {
      const others = (this.#fetching.get(content.id) ?? 0) - 1;
      if (others > 0) this.#fetching.set(content.id, others);
      else this.#fetching.delete(content.id);
      // After a failure too: what came is here.
      if (cache.byId(content.id) !== undefined) drive.putRanges(content.id, cache.present(content));
    }
  }

  /**
   * Puts another content of the same version in place of this one, with nothing in it at first. @throws `error` where
   * there is none, and none would give space.
   */
  async #startedOver(content: CachedContent, error: unknown): Promise<CachedContent> {
    // Whatever failed, it may have failed for being in the midst of that.
    const before = (await this.#startingOver.get(content.id)) ?? (await this.#editOf(content.id));
    if (before !== undefined) return before;
    if (!isRunnelError(error, "NoSpace") || this.#deps.cache.byId(content.id) === undefined) throw error;
    let heldBytes = 0;
    for (const { length } of this.#deps.cache.present(content)) heldBytes += length;
    if (heldBytes < START_OVER_BYTES) throw error;
    const starting = this.#replaceBy(content, this.#deps.cache.startOver(content), error);
    this.#startingOver.set(content.id, starting);
    try {
      return await starting;
    } finally {
      this.#startingOver.delete(content.id);
    }
  }

  async #replaceBy(
    content: CachedContent,
    making: ReturnType<Cache["startOver"]>,
    error: RunnelError,
  ): Promise<CachedContent> {
    const { id, version } = content;
    this.#stopReadingOn(id);
    const { hold, formerEvicted } = await making.catch((reason: unknown) => {
      throw isRunnelError(reason, "Gone") ? error : reason;
    });
    using anewHold = hold;
    const { content: anew } = anewHold;
    this.give(anew);
    this.#deps.drive.replaceContent(id, anew.id);
    this.#given.delete(id);
    this.#edits.set(id, version);
    if (this.#held.get(version.node)?.has(id) === true) this.hold(anew);
    this.#dropHold(version.node, id);
    // Whoever else still uses what was there may take long.
    await Promise.race([formerEvicted, sleep(this.#deps.clock, SPACE_MS_MAX)]);
    this.#freeingUntilMs.set(anew.id, this.#deps.clock.bootMs() + SPACE_MS_MAX);
    return anew;
  }

  /** Resolves when the range has come, and all that is asked for with it. @throws as Downloads.read. */
  async #bring(content: CachedContent, needed: ByteRange, ahead: number): Promise<void> {
    const { downloads } = this.#deps;
    if (this.#comesWhole(content))
      return downloads.read(content, { offset: 0, length: content.sizeBytes }, { isReadingOn: false });
    const one = this.#readerAt(content.id, needed);
    if (one !== undefined) {
      this.#askForMore(content, one, needed.offset, ahead);
      return downloads.read(content, needed, { isReadingOn: true });
    }
    if (ahead === 0) return downloads.read(content, needed, { isReadingOn: false });
    const begun = this.#beginReadingOn(content.id, needed, ahead);
    return downloads.read(content, needed, { isReadingOn: true, aheadBytes: ahead, signal: begun.stop.signal });
  }

  #comesWhole(content: CachedContent): boolean {
    const { sizeBytes } = content;
    if (sizeBytes <= WHOLE_FILE_BYTES) return true;
    return sizeBytes <= CHANGED_FILE_BYTES && this.#deps.downloads.holdsOlder(content);
  }

  #readerAt(id: number, { offset, length }: ByteRange): ReadingOn | undefined {
    return this.#readingOn.get(id)?.findLast(({ from, askedTo }) => from <= offset && offset + length <= askedTo);
  }

  #beginReadingOn(id: number, { offset, length }: ByteRange, ahead: number): ReadingOn {
    const all = this.#readingOn.get(id) ?? [];
    this.#readingOn.set(id, all);
    const begun = { from: offset, askedTo: offset + length + ahead, stop: new AbortController() };
    all.push(begun);
    if (all.length > READING_ON_MAX) all.shift()?.stop.abort();
    return begun;
  }

  /** More follows before the program comes to the end of what has been asked for. */
  #askForMore({ id, sizeBytes }: CachedContent, one: ReadingOn, offset: number, ahead: number): void {
    const length = Math.min(ahead, sizeBytes - one.askedTo);
    if (length <= 0 || one.askedTo - offset >= Math.max(ahead / 2, LEAST_AHEAD_BYTES)) return;
    const content = this.#deps.cache.byId(id);
    const next = { offset: one.askedTo, length };
    one.askedTo += length;
    // Whoever reads it finds out.
    if (content !== undefined)
      this.#deps.downloads.readAhead(content, next, one.stop.signal).catch(() => this.#stopReadingOn(id));
  }

  #stopReadingOn(id: number): void {
    for (const { stop } of this.#readingOn.get(id) ?? []) stop.abort();
    this.#readingOn.delete(id);
  }

  #arrival(content: CachedContent, range: ByteRange, arriving: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const all = this.#awaited.get(content.id) ?? new Set();
    this.#awaited.set(content.id, all);
    const mine = { range, arrived: resolve };
    all.add(mine);
    const ended = (): void => {
      all.delete(mine);
      if (all.size === 0) this.#awaited.delete(content.id);
    };
    arriving.then(ended, ended);
    return promise;
  }

  #stored(id: number): void {
    const content = this.#deps.cache.byId(id);
    if (content === undefined) return;
    this.#deps.drive.putRanges(id, this.#deps.cache.present(content));
    this.#learnRecipe(content);
    for (const { range, arrived } of this.#awaited.get(id) ?? [])
      if (this.#deps.cache.missing(content, range).length === 0) arrived();
  }

  isOpen(node: number): boolean {
    return this.#held.has(node);
  }

  closed(node: number): void {
    const contents = this.#held.get(node);
    this.#held.delete(node);
    for (const [id, hold] of contents ?? []) {
      this.#stopReadingOn(id);
      this.#freeingUntilMs.delete(id);
      hold[Symbol.dispose]();
    }
  }

  hold(content: CachedContent): void {
    this.#holdFor(content.version.node, content);
  }

  #holdFor(node: number, content: CachedContent): void {
    const contents = this.#held.get(node) ?? new Map<number, Hold>();
    this.#held.set(node, contents);
    if (!contents.has(content.id)) contents.set(content.id, this.#deps.cache.hold(content));
  }

  #dropHold(node: number, id: number): void {
    const contents = this.#held.get(node);
    const hold = contents?.get(id);
    contents?.delete(id);
    if (contents?.size === 0) this.#held.delete(node);
    hold?.[Symbol.dispose]();
  }

  /** The drive opens and reads it from now on, also without asking. */
  give(content: CachedContent): void {
    const { id, path, sizeBytes, version } = content;
    this.#given.set(id, { version, sinceMs: this.#given.get(id)?.sinceMs ?? this.#deps.clock.bootMs() });
    this.#deps.drive.putContent({
      id,
      node: version.node,
      version: version.seq,
      path,
      sizeBytes,
      present: this.#deps.cache.present(content),
    });
  }

  /** The drive has a content that a program here saved, and opens it without asking; of many the last ones. */
  giveSaved(content: CachedContent): void {
    this.give(content);
    this.#saved.push(content.id);
    if (this.#saved.length <= SAVED_MAX) return;
    const oldest = this.#saved.shift() ?? 0;
    const version = this.#given.get(oldest)?.version;
    if (version === undefined || this.#held.get(version.node)?.has(oldest) === true) return;
    if (this.#deps.drive.dropContent(oldest)) this.#given.delete(oldest);
  }

  /**
   * Marks unverified what the drive was given long ago, and no program has open: the next opening asks, and what is
   * read is digested [F53]. Nothing holds it then: its program may have given up before it was open.
   */
  markOldUnverified(): void {
    const nowMs = this.#deps.clock.bootMs();
    for (const [id, { version, sinceMs }] of this.#given) {
      if (nowMs - sinceMs < VERIFIED_FOR_MS) return;
      if (!this.#deps.drive.dropContent(id)) continue;
      this.#given.delete(id);
      this.#dropHold(version.node, id);
      const content = this.#deps.cache.byId(id);
      if (content !== undefined) this.#deps.cache.markUnverified(content);
    }
  }

  /** Counts how often a file's programs hold it. */
  holdsOf(content: CachedContent): number {
    return this.#held.get(content.version.node)?.has(content.id) === true ? 1 : 0;
  }

  /**
   * Releases a content whose file becomes that of the node's version `seq`, which the open file (0: none) is of.
   * @returns false when another one still reads from it; nothing has changed then.
   */
  release(content: CachedContent, seq: number, file: number): boolean {
    const { id, version } = content;
    if (this.#fetching.has(id) || !this.#deps.drive.dropContentBut(id, file)) return false;
    this.#given.delete(id);
    this.#edits.set(id, { node: version.node, seq });
    this.#dropHold(version.node, id);
    return true;
  }

  async #editOf(id: number): Promise<CachedContent | undefined> {
    const version = this.#edits.get(id);
    if (version === undefined) return undefined;
    await this.#deps.settled(version.node);
    return this.#deps.cache.find(version);
  }

  /**
   * A file reads from this content from now on. Releases what it read before, unless the drive has another file over
   * that.
   */
  rebased(content: CachedContent): void {
    this.hold(content);
    const { node } = content.version;
    for (const id of this.#held.get(node)?.keys() ?? []) {
      if (id === content.id || !this.#deps.drive.dropContent(id)) continue;
      this.#given.delete(id);
      this.#dropHold(node, id);
    }
  }

  /** The drive may have opened a file over it by itself, which then reads on from it, whatever has taken its place. */
  #mayEvict(id: number): boolean {
    const version = this.#given.get(id)?.version;
    if (this.#deps.drive.dropContent(id) || version === undefined) {
      this.#given.delete(id);
      return true;
    }
    const content = this.#deps.cache.byId(id);
    if (content !== undefined) this.#holdFor(version.node, content);
    return false;
  }

  /** Returns what has taken a content's place, and has its bytes. */
  #successorOf(content: CachedContent): CachedContent {
    const version = this.#given.get(content.id)?.version;
    if (content.version.node !== 0 || version === undefined) return content;
    return this.#deps.cache.find(version) ?? content;
  }

  async #takeFrom(successor: CachedContent, content: CachedContent, range: ByteRange): Promise<void> {
    const { cache } = this.#deps;
    using hold = cache.hold(successor);
    await this.#deps.downloads.read(hold.content, range, { isReadingOn: false });
    await cache.copy(successor, range.offset, content, range.offset, range.length);
  }

  async #contentOf(state: NodeState, isOffline: boolean): Promise<Hold> {
    const version = { node: state.node, seq: state.version };
    const cached = this.#deps.cache.find(version);
    const isHere = cached !== undefined && cached.sizeBytes === state.sizeBytes;
    if (!isHere && isOffline) {
      const { session } = this.#deps;
      await session.lineIsThere().catch(() => undefined);
      if (!session.isResponsive)
        throw new RunnelError("Unreachable", "open", "Offline, and this file is not in the cache.");
    }
    // A small one is ready to be read with its opening; of a larger one each range is verified when it is first read.
    if (isHere && cached.sizeBytes <= WHOLE_FILE_BYTES) await this.#deps.cache.verify(cached);
    // The file may just be being made for what is read ahead.
    return this.#deps.cache.create(version, state.sizeBytes);
  }

  /** Meanwhile, for who will write a new file of the same chunks: it is not known to be an edit of this one. */
  #learnRecipe(content: CachedContent): void {
    this.#deps.ownRecipes.of(content).catch(() => undefined);
  }
}
