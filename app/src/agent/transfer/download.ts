// Brings ranges of a version into the cache: what older cached versions hold is copied there, the rest is fetched, all is digested before it
// counts as present. One request for recipe and data together.
import type { ByteRange } from "@runnel/native/drive";
import type {
  Channel,
  Clock,
  Difference,
  Executor,
  FetchEncoding,
  FetchItem,
  Recipe,
  RecipePart,
  VersionId,
} from "@runnel/shared";
import {
  DIGEST_BYTES,
  EMPTY_RECIPE,
  FETCH_ITEM,
  LIMITS,
  RunnelError,
  check,
  chunkOffsets,
  concatRecipes,
  decodeRecipeDelta,
  digestAt,
  encodeRecipe,
  isRunnelError,
  recipeSize,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";

export interface ReuseCounts {
  base: number;
  cache: number;
  server: number;
  bytes: number;
}

const HELD_MAX = 8;

/** What who comes while offline does: what only reads is told at once, what changes something is as patient as its change. */
export type Wait = "none" | "patient";

interface Underway {
  span: ByteRange;
  fetched: Promise<void>;
}

export class Downloads {
  private readonly cache: Cache;
  private readonly session: Session;
  private readonly executor: Executor;
  private readonly clock: Clock;
  private readonly reused: ReuseCounts;
  /** What is being fetched, by content; whoever waits for one of them looks again at what is missing. */
  private readonly underway = new Map<number, Set<Underway>>();
  private stored: (id: number) => void = () => {};

  constructor(parts: { cache: Cache; session: Session; executor: Executor; clock: Clock; reused: ReuseCounts }) {
    this.cache = parts.cache;
    this.session = parts.session;
    this.executor = parts.executor;
    this.clock = parts.clock;
    this.reused = parts.reused;
  }

  /** `tell` is called with the content's id whenever some of it has come. */
  onStored(tell: (id: number) => void): void {
    this.stored = tell;
  }

  /** Resolves when the range is here, though it may be in doubt. @throws as `ensure`. */
  async bringAbsent(content: CachedContent, range: ByteRange, wait: Wait): Promise<CachedContent> {
    let current = content;
    for (const part of this.cache.absent(content, range)) current = await this.ensure(current, part, wait);
    return current;
  }

  /** Resolves when the range is present. @throws Unreachable, Gone, Lost, Stale, NoSpace. */
  async ensure(content: CachedContent, range: ByteRange, wait: Wait): Promise<CachedContent> {
    let current = (await this.cache.prove(content, range)) ?? content;
    // What a held version should have and does not (a cache on disk may rot) is asked for in a second round.
    let mayReuse = true;
    for (;;) {
      const span = hull(this.cache.missing(current, range));
      if (span.length === 0) return current;
      const before = this.inTheWay(current, span);
      if (before !== undefined) await before.fetched.catch(() => undefined);
      else {
        await this.begin(current, range, span, mayReuse, wait);
        mayReuse = false;
      }
      current = this.cache.byId(content.id) ?? content;
    }
  }

  /** Until the recipe is here there is one fetch at a time. */
  private inTheWay({ id, recipe }: CachedContent, span: ByteRange): Underway | undefined {
    for (const one of this.underway.get(id) ?? [])
      if (recipe === undefined || isOverlapping(one.span, span)) return one;
    return undefined;
  }

  private async begin(
    content: CachedContent,
    range: ByteRange,
    span: ByteRange,
    mayReuse: boolean,
    wait: Wait,
  ): Promise<void> {
    const all = this.underway.get(content.id) ?? new Set();
    this.underway.set(content.id, all);
    const mine = { span, fetched: this.bringThroughCuts(content, range, mayReuse, wait) };
    all.add(mine);
    try {
      await mine.fetched;
    } finally {
      all.delete(mine);
      if (all.size === 0) this.underway.delete(content.id);
    }
  }

  /** A line that breaks and comes back repeats at most the run that it broke. */
  private async bringThroughCuts(
    content: CachedContent,
    range: ByteRange,
    mayReuse: boolean,
    wait: Wait,
  ): Promise<void> {
    const { session, clock, cache } = this;
    const beganMs = clock.bootMs();
    for (;;) {
      const mayWait = wait === "patient" || session.isResponsive;
      try {
        await this.bring(cache.byId(content.id) ?? content, range, mayReuse);
        return;
      } catch (error) {
        if (!mayWait || !isRunnelError(error, "Unreachable")) throw error;
        await session.connected(session.patienceLeftMs(beganMs));
      }
    }
  }

  /**
   * What a version differs by from one that is here: its recipe, and the chunks that that one lacks. The others are copied when they are read. @throws Gone
   * without that one; Invalid, Corrupt, NoSpace.
   */
  async takeDifference(version: VersionId, [seq, sizeBytes, parts, runs]: Difference): Promise<void> {
    const { cache, executor } = this;
    const base = cache.find({ node: version.node, seq });
    if (base?.recipe === undefined) throw new RunnelError("Gone", "take a change", "The version before is not here.");
    for (const part of parts) if (part instanceof Uint8Array) this.session.recipeBytes.received += part.length;
    const recipe = decodeRecipeDelta(parts, [base.recipe]);
    if (recipeSize(recipe) !== sizeBytes)
      throw new RunnelError("Invalid", "take a change", "A recipe has another size than its version.");
    if (sizeBytes === 0) return;
    cache.hold(base);
    const content = await cache.create(version, sizeBytes);
    try {
      cache.setRecipe(content, recipe, await executor.digest([encodeRecipe(recipe)]));
      for (const [from, count, encoding, rawBytes, encoded] of runs) {
        this.session.contentBytes.received += encoded.length;
        mustFit(recipe, from, count, rawBytes);
        const bytes =
          typeof encoding === "string"
            ? await this.unpack(encoding, rawBytes, encoded)
            : await this.applyDelta(encoded, rawBytes, [base], encoding);
        await this.storeChunks(content, recipe, { from, count }, bytes);
      }
    } finally {
      cache.release(content);
      cache.release(base);
    }
  }

  private async bring(content: CachedContent, range: ByteRange, mayReuse: boolean): Promise<void> {
    const held = mayReuse ? this.heldVersions(content) : [];
    if (content.recipe !== undefined) await this.reuse(content, content.recipe, held, range);
    const span = hull(this.cache.missing(content, range));
    if (span.length === 0) return;
    this.session.mustRespond();
    const channel = this.session.open(
      "fetch",
      {
        version: [content.version.node, content.version.seq],
        held: held.map(({ version }) => [version.node, version.seq]),
        hasRecipe: content.recipe !== undefined,
        offset: span.offset,
        length: span.length,
      },
      true,
    );
    for (const one of held) this.cache.hold(one);
    try {
      await this.session.whileItComes(this.receive(channel, content, held, range), "fetch");
    } catch (error) {
      channel.cancel();
      // A cache on disk may rot: what came of the bytes of a held version is asked for once more, without it.
      if (held.length === 0 || !isRunnelError(error, "Corrupt", "Gone")) throw error;
      await this.bring(this.cache.byId(content.id) ?? content, range, false);
    } finally {
      for (const one of held) this.cache.release(one);
    }
  }

  private async receive(
    channel: Channel,
    content: CachedContent,
    held: readonly CachedContent[],
    range: ByteRange,
  ): Promise<void> {
    const first = await nextItem(channel);
    if (first === undefined || first[0] !== "v")
      throw new RunnelError("Invalid", "fetch", "A fetch began without its version.");
    if (first[1] !== content.sizeBytes) throw new RunnelError("Stale", "fetch", "The file has changed meanwhile.");
    let { recipe } = content;
    if (first[2] !== null && recipe === undefined) {
      recipe = await this.receiveRecipe(channel, first[2], content.sizeBytes, held);
      this.cache.setRecipe(content, recipe, await this.executor.digest([encodeRecipe(recipe)]));
      await this.reuse(content, recipe, held, range);
    }
    for (let item = await nextItem(channel); item !== undefined; item = await nextItem(channel)) {
      if (item[0] === "d" && recipe !== undefined) await this.takeChunks(channel, content, recipe, held, item);
      else if (item[0] === "raw") await this.takeRaw(channel, content, item);
      else throw new RunnelError("Invalid", "fetch", "A fetch brought something unexpected.");
    }
    await channel.result();
  }

  /** Parts go on in further items until they come to the size of the version. */
  private async receiveRecipe(
    channel: Channel,
    first: readonly RecipePart[],
    sizeBytes: number,
    held: readonly CachedContent[],
  ): Promise<Recipe> {
    const recipes = held.map((one) => one.recipe ?? EMPTY_RECIPE);
    let recipe = EMPTY_RECIPE;
    for (let parts = first; ;) {
      for (const part of parts) if (part instanceof Uint8Array) this.session.recipeBytes.received += part.length;
      recipe = concatRecipes([recipe, decodeRecipeDelta(parts, recipes)]);
      const size = recipeSize(recipe);
      if (size === sizeBytes) return recipe;
      const item = size < sizeBytes ? await nextItem(channel) : undefined;
      if (item?.[0] !== "p") throw new RunnelError("Invalid", "fetch", "A recipe has another size than its version.");
      parts = item[1];
    }
  }

  /** Older versions that are here whole; the newest first. */
  private heldVersions(content: CachedContent): CachedContent[] {
    return this.cache
      .versionsOf(content.version.node)
      .filter((other) => other.id !== content.id && other.recipe !== undefined && this.isWhole(other))
      .slice(0, HELD_MAX);
  }

  private isWhole(content: CachedContent): boolean {
    return this.cache.absent(content, { offset: 0, length: content.sizeBytes }).length === 0;
  }

  /** Copies the chunks of the range that held versions have; digested, since a cache on disk may rot. */
  private async reuse(
    content: CachedContent,
    recipe: Recipe,
    held: readonly CachedContent[],
    range: ByteRange,
  ): Promise<void> {
    if (held.length === 0) return;
    const offsets = chunkOffsets(recipe);
    const places = new Map<string, { from: CachedContent; offset: number }>();
    for (const one of held.toReversed()) {
      if (one.recipe === undefined) continue;
      const theirs = chunkOffsets(one.recipe);
      for (let index = 0; index < one.recipe.lengths.length; index++) {
        places.set(Buffer.from(digestAt(one.recipe, index)).toString("latin1"), {
          from: one,
          offset: theirs[index] ?? 0,
        });
      }
    }
    const end = range.offset + range.length;
    for (let index = 0; index < recipe.lengths.length; index++) {
      const offset = offsets[index] ?? 0;
      const length = recipe.lengths[index] ?? 0;
      if (offset >= end || offset + length <= range.offset) continue;
      const place = places.get(Buffer.from(digestAt(recipe, index)).toString("latin1"));
      if (place === undefined || this.cache.missing(content, { offset, length }).length === 0) continue;
      const bytes = await this.readHeld(place.from, place.offset, length);
      if (bytes === undefined) continue;
      if (Buffer.compare(await this.executor.digest([bytes]), digestAt(recipe, index)) !== 0) continue;
      await this.cache.write(content, offset, bytes);
      this.reused.base++;
      this.reused.bytes += length;
    }
  }

  /** undefined: a cache on disk may rot. */
  private async readHeld(content: CachedContent, offset: number, length: number): Promise<Uint8Array | undefined> {
    try {
      return await this.cache.read(content, offset, length);
    } catch (error) {
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
  }

  private async takeChunks(
    channel: Channel,
    content: CachedContent,
    recipe: Recipe,
    held: readonly CachedContent[],
    item: Extract<FetchItem, ["d", ...unknown[]]>,
  ): Promise<void> {
    const [, from, count, encoding, rawBytes, encodedBytes] = item;
    mustFit(recipe, from, count, rawBytes);
    const bytes =
      typeof encoding === "string"
        ? await this.decode(channel, encoding, rawBytes, encodedBytes)
        : await this.applyDelta(await channel.readBulk(encodedBytes), rawBytes, held, encoding);
    await this.storeChunks(content, recipe, { from, count }, bytes);
  }

  /** Chunks that lie one after another. @throws Corrupt when they are not what the recipe says. */
  private async storeChunks(
    content: CachedContent,
    recipe: Recipe,
    { from, count }: { from: number; count: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const parts: Uint8Array[] = [];
    let at = 0;
    for (let index = from; index < from + count; index++) {
      const length = recipe.lengths[index] ?? 0;
      parts.push(bytes.subarray(at, at + length));
      at += length;
    }
    const digests = await this.executor.digest(parts);
    if (
      at !== bytes.length ||
      Buffer.compare(digests, recipe.digests.subarray(from * DIGEST_BYTES, (from + count) * DIGEST_BYTES)) !== 0
    ) {
      throw new RunnelError("Corrupt", "fetch", "What came is not what the recipe says.");
    }
    await this.cache.write(content, chunkOffsets(recipe)[from] ?? 0, bytes);
    this.stored(content.id);
  }

  /** The old bytes are not digested: what comes of them is. */
  private async applyDelta(
    encoded: Uint8Array,
    rawBytes: number,
    held: readonly CachedContent[],
    [which, from, count]: Exclude<FetchEncoding, string>,
  ): Promise<Uint8Array> {
    const base = held[which];
    const offsets = base?.recipe && chunkOffsets(base.recipe);
    const end = offsets?.[from + count];
    if (base === undefined || offsets === undefined || end === undefined)
      throw new RunnelError("Invalid", "fetch", "A fetch brought a delta against chunks that are not held.");
    const offset = offsets[from] ?? 0;
    return this.executor.decompress(encoded, rawBytes, await this.cache.read(base, offset, end - offset));
  }

  private async takeRaw(
    channel: Channel,
    content: CachedContent,
    item: Extract<FetchItem, ["raw", ...unknown[]]>,
  ): Promise<void> {
    const [, offset, encoding, rawBytes, encodedBytes] = item;
    if (offset + rawBytes > content.sizeBytes || rawBytes > LIMITS.runBytes)
      throw new RunnelError("Invalid", "fetch", "A fetch brought bytes past the end.");
    await this.cache.write(content, offset, await this.decode(channel, encoding, rawBytes, encodedBytes));
    this.stored(content.id);
  }

  private async decode(
    channel: Channel,
    encoding: "raw" | "zstd",
    rawBytes: number,
    encodedBytes: number,
  ): Promise<Uint8Array> {
    return this.unpack(encoding, rawBytes, await channel.readBulk(encodedBytes));
  }

  private async unpack(encoding: "raw" | "zstd", rawBytes: number, encoded: Uint8Array): Promise<Uint8Array> {
    if (encoding === "zstd") return this.executor.decompress(encoded, rawBytes);
    if (encoded.length !== rawBytes)
      throw new RunnelError("Invalid", "fetch", "A run has another length than announced.");
    return encoded;
  }
}

async function nextItem(channel: Channel): Promise<FetchItem | undefined> {
  const message = await channel.next();
  return message === undefined ? undefined : check(FETCH_ITEM, message, "fetch item");
}

/** @throws Invalid. */
function mustFit(recipe: Recipe, from: number, count: number, rawBytes: number): void {
  if (from + count > recipe.lengths.length || rawBytes > LIMITS.runBytes)
    throw new RunnelError("Invalid", "fetch", "Chunks came that the recipe does not have.");
}

function isOverlapping(one: ByteRange, other: ByteRange): boolean {
  return one.offset < other.offset + other.length && other.offset < one.offset + one.length;
}

function hull(ranges: readonly ByteRange[]): ByteRange {
  const first = ranges[0];
  const last = ranges.at(-1);
  if (first === undefined || last === undefined) return { offset: 0, length: 0 };
  return { offset: first.offset, length: last.offset + last.length - first.offset };
}
