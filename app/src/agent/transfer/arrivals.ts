// Puts what comes of a version into the cache: its recipe, chunks, ranges, and what older cached versions hold of it.
// All is digested before it counts as present, but for ranges, which nothing verifies until the chunk is here.
import type { ByteRange } from "@runnel/native/drive";
import type {
  Channel,
  Difference,
  Executor,
  FetchEncoding,
  FetchItem,
  Recipe,
  RecipePart,
  VersionId,
} from "@runnel/shared";
import {
  EMPTY_RECIPE,
  FETCH_ITEM,
  LIMITS,
  RecipeIndex,
  RunnelError,
  check,
  chunkAt,
  chunkOffsets,
  concatRecipes,
  decodeRecipe,
  decodeRecipeDelta,
  digestAt,
  encodeRecipe,
  isRunnelError,
  recipeSize,
  sliceRecipe,
  wrongIn,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import { endOf } from "../cache/ranges.ts";
import type { Transfer } from "../view/transfers.ts";
import type { ChunkRun } from "./sources/chunk-source.ts";

/** Chunks and bytes that did not need to be fetched. */
export interface ReuseCounts {
  base: number;
  cache: number;
  server: number;
  bytes: number;
}

/**
 * A fetch under way: its channel, the content that it brings, and the older versions that deltas and recipes refer to.
 */
interface Fetch {
  channel: Channel;
  content: CachedContent;
  held: readonly CachedContent[];
  /** Entry in the register of what moves. */
  transfer: Transfer;
}

interface ArrivalsDeps {
  cache: Cache;
  executor: Executor;
  reused: ReuseCounts;
  /** Counts bytes of recipes, and of contents, that came in control items. */
  countRecipe(bytes: number): void;
  countContent(bytes: number): void;
}

export class Arrivals {
  readonly #deps: ArrivalsDeps;

  constructor(deps: ArrivalsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes what a fetch brings; `stored` is called with the end of it, whenever some of it is in the cache. @throws
   * Invalid, Corrupt, Stale, Gone, NoSpace.
   */
  async receive(fetch: Fetch, span: ByteRange, stored: (end: number) => void): Promise<void> {
    const { channel, content, held, transfer } = fetch;
    const first = await this.#begun(fetch);
    let { recipe } = content;
    if (first !== null && recipe === undefined) {
      recipe = await this.#receiveRecipe(channel, first, content.sizeBytes, held, transfer);
      this.#deps.cache.setRecipe(content, recipe, await this.#deps.executor.digest([encodeRecipe(recipe)]));
      // Bytes that came before it are compared with it.
      await this.#deps.cache.verify(content);
      await this.reuse(content, recipe, held, span, transfer);
    }
    for (let item = await nextItem(channel); item !== undefined; item = await nextItem(channel)) {
      let end: number;
      if (item[0] === "d" && recipe !== undefined) end = await this.#takeChunks(fetch, recipe, item);
      else if (item[0] === "s") end = await this.#takeDescribed(fetch, item);
      else if (item[0] === "raw") end = await this.#takeRaw(fetch, item);
      else throw new RunnelError("Invalid", "fetch", "A fetch brought something unexpected.");
      noteItem(transfer, item);
      stored(end);
    }
    await channel.result();
  }

  /** Yields the chunks that a fetch brings of a recipe that is here, not digested. @throws as `receive`. */
  async *chunks(fetch: Fetch, recipe: Recipe): AsyncGenerator<ChunkRun> {
    const { channel, transfer } = fetch;
    await this.#begun(fetch);
    for (let item = await nextItem(channel); item !== undefined; item = await nextItem(channel)) {
      if (item[0] !== "d") throw new RunnelError("Invalid", "fetch", "A fetch brought something unexpected.");
      const [, from, count, encoding, rawBytes, encodedBytes] = item;
      mustFit(recipe, from, count, rawBytes);
      const bytes = await this.#decode(fetch, encoding, rawBytes, encodedBytes);
      noteItem(transfer, item);
      yield { from, count, bytes };
    }
    await channel.result();
  }

  /** Stores chunks that were digested. @returns the end of them in the content. */
  async store(content: CachedContent, recipe: Recipe, { from, count, bytes }: ChunkRun): Promise<number> {
    const offsets = chunkOffsets(recipe);
    await this.#deps.cache.write(content, offsets[from] ?? 0, bytes);
    return offsets[from + count] ?? 0;
  }

  /** Takes the first item. @returns the first parts of the recipe, if it comes. @throws Stale for another size. */
  async #begun({ channel, content }: Fetch): Promise<readonly RecipePart[] | null> {
    const first = await nextItem(channel);
    if (first === undefined || first[0] !== "v")
      throw new RunnelError("Invalid", "fetch", "A fetch began without its version.");
    if (first[1] !== content.sizeBytes) throw new RunnelError("Stale", "fetch", "The file has changed meanwhile.");
    return first[2];
  }

  /** Parts go on in further items until they come to the size of the version. */
  async #receiveRecipe(
    channel: Channel,
    first: readonly RecipePart[],
    sizeBytes: number,
    held: readonly CachedContent[],
    transfer: Transfer,
  ): Promise<Recipe> {
    const recipes = held.map((one) => one.recipe ?? EMPTY_RECIPE);
    const lists: Recipe[] = [];
    let [size, chunks] = [0, 0];
    for (let parts = first; ;) {
      for (const part of parts) {
        if (!(part instanceof Uint8Array)) continue;
        this.#deps.countRecipe(part.length);
        transfer.crossed(part.length);
      }
      const list = decodeRecipeDelta(parts, recipes, LIMITS.recipeDescriptors - chunks);
      lists.push(list);
      chunks += list.lengths.length;
      size += recipeSize(list);
      if (size === sizeBytes) return concatRecipes(lists);
      const item = size < sizeBytes ? await nextItem(channel) : undefined;
      if (item?.[0] !== "p") throw new RunnelError("Invalid", "fetch", "A recipe has another size than its version.");
      parts = item[1];
    }
  }

  /**
   * Takes what a version differs by from one that is here: its recipe, and the chunks that that one lacks. The others
   * are copied when they are read. @throws Gone without that one; Invalid, Corrupt, NoSpace.
   */
  async takeDifference(
    version: VersionId,
    [seq, sizeBytes, parts, runs]: Difference,
    stored: (id: number) => void,
  ): Promise<void> {
    const { cache, executor } = this.#deps;
    const base = cache.find({ node: version.node, seq });
    if (base?.recipe === undefined) throw new RunnelError("Gone", "take a change", "The version before is not here.");
    for (const part of parts) if (part instanceof Uint8Array) this.#deps.countRecipe(part.length);
    const recipe = decodeRecipeDelta(parts, [base.recipe]);
    if (recipeSize(recipe) !== sizeBytes)
      throw new RunnelError("Invalid", "take a change", "A recipe has another size than its version.");
    if (sizeBytes === 0) return;
    using baseHold = cache.hold(base);
    using hold = await cache.create(version, sizeBytes);
    const { content } = hold;
    cache.setRecipe(content, recipe, await executor.digest([encodeRecipe(recipe)]));
    for (const [from, count, encoding, rawBytes, encoded] of runs) {
      this.#deps.countContent(encoded.length);
      mustFit(recipe, from, count, rawBytes);
      const bytes =
        typeof encoding === "string"
          ? await this.#unpack(encoding, rawBytes, encoded)
          : await this.#applyDelta(encoded, rawBytes, [baseHold.content], encoding);
      await this.#storeChunks(content, recipe, { from, count }, bytes);
      stored(content.id);
    }
  }

  /** Copies the chunks of the range that held versions have; digested, since a cache on disk may rot. */
  async reuse(
    content: CachedContent,
    recipe: Recipe,
    held: readonly CachedContent[],
    range: ByteRange,
    transfer?: Transfer,
  ): Promise<void> {
    if (held.length === 0) return;
    const offsets = chunkOffsets(recipe);
    for (let index = chunkAt(recipe, range.offset); (offsets[index] ?? Infinity) < endOf(range); index++) {
      const offset = offsets[index] ?? 0;
      const length = recipe.lengths[index] ?? 0;
      if (length === 0 || this.#deps.cache.missing(content, { offset, length }).length === 0) continue;
      const place = placeIn(held, digestAt(recipe, index));
      const bytes = place && (await this.#readHeld(place.from, place.offset, length));
      if (bytes === undefined) continue;
      if (Buffer.compare(await this.#deps.executor.digest([bytes]), digestAt(recipe, index)) !== 0) continue;
      await this.#deps.cache.write(content, offset, bytes);
      this.#deps.reused.base++;
      this.#deps.reused.bytes += length;
      transfer?.reused(length, true);
    }
  }

  /** @returns undefined when it is not there any more: a cache on disk may rot. */
  async #readHeld(content: CachedContent, offset: number, length: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#deps.cache.read(content, offset, length);
    } catch (error) {
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
  }

  async #takeChunks(fetch: Fetch, recipe: Recipe, item: Extract<FetchItem, ["d", ...unknown[]]>): Promise<number> {
    const [, from, count, encoding, rawBytes, encodedBytes] = item;
    mustFit(recipe, from, count, rawBytes);
    const bytes = await this.#decode(fetch, encoding, rawBytes, encodedBytes);
    await this.#storeChunks(fetch.content, recipe, { from, count }, bytes);
    return chunkOffsets(recipe)[from + count] ?? 0;
  }

  /** Chunks that come with their descriptors, to a client without the recipe [W140]. */
  async #takeDescribed(fetch: Fetch, item: Extract<FetchItem, ["s", ...unknown[]]>): Promise<number> {
    const { content } = fetch;
    const [, offset, descriptors, encoding, rawBytes, encodedBytes] = item;
    this.#deps.countRecipe(descriptors.length);
    const chunks = decodeRecipe(descriptors);
    if (recipeSize(chunks) !== rawBytes || rawBytes > LIMITS.runBytes || offset + rawBytes > content.sizeBytes)
      throw new RunnelError("Invalid", "fetch", "Chunks came that do not fit into their version.");
    const bytes = await this.#decode(fetch, encoding, rawBytes, encodedBytes);
    await this.#mustBe(chunks, bytes);
    // The recipe may have come meanwhile: then it is the one that counts.
    const { recipe } = this.#deps.cache.byId(content.id) ?? content;
    await this.#deps.cache.write(content, offset, bytes, recipe === undefined ? chunks : "range");
    return offset + rawBytes;
  }

  /** Chunks that lie one after another. @throws Corrupt when they are not what the recipe says. */
  async #storeChunks(
    content: CachedContent,
    recipe: Recipe,
    { from, count }: { from: number; count: number },
    bytes: Uint8Array,
  ): Promise<void> {
    await this.#mustBe(sliceRecipe(recipe, from, from + count), bytes);
    await this.#deps.cache.write(content, chunkOffsets(recipe)[from] ?? 0, bytes);
  }

  /** @throws Corrupt */
  async #mustBe(chunks: Recipe, bytes: Uint8Array): Promise<void> {
    if ((await wrongIn(bytes, chunks, this.#deps.executor)).length === 0) return;
    throw new RunnelError("Corrupt", "fetch", "What came is not what the recipe says.");
  }

  /** The old bytes are not digested: what comes of them is. */
  async #applyDelta(
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
    if (end - offset > LIMITS.runBytes)
      throw new RunnelError("Invalid", "fetch", "A fetch brought a delta against too many bytes.", {
        detail: { limit: LIMITS.runBytes, rule: "W28" },
      });
    return this.#deps.executor.decompress(encoded, rawBytes, await this.#deps.cache.read(base, offset, end - offset));
  }

  async #takeRaw({ channel, content }: Fetch, item: Extract<FetchItem, ["raw", ...unknown[]]>): Promise<number> {
    const [, offset, encoding, rawBytes, encodedBytes] = item;
    if (offset + rawBytes > content.sizeBytes || rawBytes > LIMITS.runBytes)
      throw new RunnelError("Invalid", "fetch", "A fetch brought bytes past the end.");
    const bytes = await this.#unpack(encoding, rawBytes, await channel.readBulk(encodedBytes));
    await this.#deps.cache.write(content, offset, bytes, "range");
    return offset + rawBytes;
  }

  async #decode(
    { channel, held }: Fetch,
    encoding: FetchEncoding,
    rawBytes: number,
    encodedBytes: number,
  ): Promise<Uint8Array> {
    const encoded = await channel.readBulk(encodedBytes);
    if (typeof encoding === "string") return this.#unpack(encoding, rawBytes, encoded);
    return this.#applyDelta(encoded, rawBytes, held, encoding);
  }

  async #unpack(encoding: "raw" | "zstd", rawBytes: number, encoded: Uint8Array): Promise<Uint8Array> {
    if (encoding === "zstd") return this.#deps.executor.decompress(encoded, rawBytes);
    if (encoded.length !== rawBytes)
      throw new RunnelError("Invalid", "fetch", "A run has another length than announced.");
    return encoded;
  }
}

/** Notes an item of data that was taken. */
function noteItem(transfer: Transfer, item: FetchItem): void {
  if (item[0] === "d") transfer.moved(item[4], item[5], typeof item[3] !== "string");
  else if (item[0] === "raw") transfer.moved(item[3], item[4], false);
  else if (item[0] === "s") {
    transfer.moved(item[4], item[5], typeof item[3] !== "string");
    transfer.crossed(item[2].length);
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

/** The newest held version that has the chunk. */
function placeIn(
  held: readonly CachedContent[],
  digest: Uint8Array,
): { from: CachedContent; offset: number } | undefined {
  for (const from of held) {
    const index = from.recipe === undefined ? -1 : RecipeIndex.of(from.recipe).indexOf(digest);
    if (from.recipe !== undefined && index >= 0) return { from, offset: chunkOffsets(from.recipe)[index] ?? 0 };
  }
  return undefined;
}
