// Sends a content as a write: ranges of the base as copies, chunks that some known version holds by digest and place, the rest as compressed
// runs, the end with the OID; then what the server says it needs. Resumes at the item that the server names.
import type { Channel, DiskFile, Executor, Recipe, VersionId } from "@runnel/shared";
import {
  DIGEST_BYTES,
  LIMITS,
  RESULTS,
  RunnelError,
  WRITE_REPLY,
  check,
  chunkOffsets,
  digestAt,
  encodeRecipe,
  isRunnelError,
  sliceRecipe,
} from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";
import type { ReuseCounts } from "./download.ts";

/** What is to be sent: a file that holds the whole content. */
export interface Outgoing {
  file: DiskFile;
  recipe: Recipe;
  oid: Uint8Array;
  sizeBytes: number;
  /** The version the edit started from, with its recipe, when the server has it. */
  base: { version: VersionId; recipe: Recipe } | undefined;
  references: References;
}

/**
 * How much is left to the server's memory of versions: ranges of their recipes; if one is no longer kept, descriptors (found by digest, or asked for);
 * if what came was not right, nothing.
 */
export type References = "copies" | "digests" | "none";

/** A part of the stream; all but data name chunks of the new recipe [from, from + count). */
type Item =
  | { is: "copy" | "hash"; version: VersionId; at: number; from: number; count: number }
  | { is: "data"; from: number; count: number; offset: number; length: number };

export interface WriteRequest {
  n: number;
  received: number;
  node: number;
  base: number;
  mtimeNs: bigint;
  isResumed: boolean;
  /** Asked when it turns out that a resumed write was not executed before: false = do not send it (Stale). */
  mayStart?: () => boolean;
}

export interface WriteResult {
  node: number;
  seq: number;
  version: number;
  conflict: boolean;
}

/** Encoded runs up to this size go inside their item: one frame instead of two. */
const INLINE_BYTES = 16 * 1024;
const BULK_LEVEL = 3;
const ITEMS_MAX = LIMITS.channelItems / 2;
/** Runs being compressed or waiting to be sent at once: memory, and overlap of work with the line. */
const AHEAD = 3;

export class Uploads {
  private readonly cache: Cache;
  private readonly session: Session;
  private readonly executor: Executor;
  private readonly reused: ReuseCounts;

  constructor(parts: { cache: Cache; session: Session; executor: Executor; reused: ReuseCounts }) {
    this.cache = parts.cache;
    this.session = parts.session;
    this.executor = parts.executor;
    this.reused = parts.reused;
  }

  /**
   * One attempt. @throws Unreachable when the link broke (try again with isResumed), Gone when a version copied from is no longer kept (try again
   * without base), and the server's refusals.
   */
  async send(outgoing: Outgoing, request: WriteRequest): Promise<WriteResult> {
    let items = this.plan(outgoing);
    // So torn that naming the pieces would cost more than it saves.
    if (items.length > ITEMS_MAX) items = this.plan({ ...outgoing, base: undefined, references: "none" });
    const channel = this.session.open(
      "write",
      {
        n: request.n,
        received: request.received,
        node: request.node,
        base: request.base,
        sizeBytes: outgoing.sizeBytes,
        attributes: { mtimeNs: request.mtimeNs },
        isResumed: request.isResumed,
      },
      false,
    );
    const answer = channel.result();
    answer.catch(() => undefined);
    try {
      const from = request.isResumed ? await this.resumeAt(channel) : 0;
      if (from !== undefined) {
        if (request.mayStart?.() === false)
          throw new RunnelError("Stale", "write", "The file was changed elsewhere meanwhile.");
        await this.sendItems(channel, outgoing, items.slice(from));
        await this.serveNeeds(channel, outgoing, items);
      }
      const result = check(RESULTS.operation, await answer, "write result");
      channel.end();
      for (const item of items) this.countReuse(outgoing, item);
      return result;
    } catch (error) {
      channel.cancel();
      throw error;
    }
  }

  /** undefined: it has been executed before, the result comes. */
  private async resumeAt(channel: Channel): Promise<number | undefined> {
    const message = await channel.next();
    if (message === undefined) return undefined;
    const reply = check(WRITE_REPLY, message, "write reply");
    if (reply[0] !== "from")
      throw new RunnelError("Invalid", "write", "The server answered a resumed write with something unexpected.");
    return reply[1];
  }

  private async sendItems(channel: Channel, outgoing: Outgoing, items: readonly Item[]): Promise<void> {
    const sending: Promise<void>[] = [];
    for (const item of items) {
      if (item.is === "data") sending.push((await this.sendRun(channel, outgoing, item.offset, item.length, [])).sent);
      else this.sendReference(channel, outgoing, item);
      if (sending.length > AHEAD) await sending.shift();
    }
    await Promise.all(sending);
    channel.send(["e", outgoing.oid]);
  }

  private sendReference(channel: Channel, outgoing: Outgoing, item: Exclude<Item, { is: "data" }>): void {
    const { node, seq } = item.version;
    if (item.is === "copy") {
      channel.send(["c", [node, seq], item.at, item.count]);
      return;
    }
    const descriptors = encodeRecipe(sliceRecipe(outgoing.recipe, item.from, item.from + item.count));
    this.session.recipeBytes.sent += descriptors.length;
    // A content kept from another epoch: by digest alone.
    channel.send(["h", descriptors, node === 0 ? null : [node, seq], item.at]);
  }

  /** Reads, compresses and announces a run; `sent` resolves when its bulk is on the way. `head` names the item asked for. */
  private async sendRun(
    channel: Channel,
    outgoing: Outgoing,
    offset: number,
    length: number,
    head: [] | [number],
  ): Promise<{ sent: Promise<void> }> {
    const bytes = await outgoing.file.read(offset, length);
    if (bytes.length !== length) throw new RunnelError("Io", "upload", "A file to be sent is shorter than it was.");
    const packed = await this.executor.compress(bytes, BULK_LEVEL);
    const encoded = packed ?? bytes;
    const kind = head.length === 0 ? "d" : "r";
    const encoding = packed === undefined ? "raw" : "zstd";
    const isInline = encoded.length <= INLINE_BYTES;
    channel.send([kind, ...head, encoding, length, isInline ? encoded : encoded.length]);
    const sent = isInline ? Promise.resolve() : channel.sendBulk(encoded);
    sent.catch(() => undefined);
    return { sent };
  }

  private async serveNeeds(channel: Channel, outgoing: Outgoing, items: Item[]): Promise<void> {
    const offsets = chunkOffsets(outgoing.recipe);
    for (;;) {
      const message = await channel.next();
      if (message === undefined) return;
      const reply = check(WRITE_REPLY, message, "write reply");
      if (reply[0] !== "need") throw new RunnelError("Invalid", "write", "The server asked for something unexpected.");
      this.session.roundTrips++;
      for (const index of reply[1]) {
        const item = items[index];
        if (item === undefined || item.is === "data")
          throw new RunnelError("Invalid", "write", "The server asked for an item that was not a reference.");
        for (const run of splitRuns(outgoing.recipe, offsets, item.from, item.count)) {
          await (
            await this.sendRun(channel, outgoing, run.offset, run.length, [index])
          ).sent;
        }
        items[index] = { is: "data", from: item.from, count: item.count, offset: offsets[item.from] ?? 0, length: 0 };
      }
      channel.send(["e", outgoing.oid]);
    }
  }

  private plan(outgoing: Outgoing): Item[] {
    const { recipe, base } = outgoing;
    const ownPlaces = new Map<string, number>();
    if (base !== undefined) {
      for (let index = base.recipe.lengths.length - 1; index >= 0; index--)
        ownPlaces.set(keyOf(base.recipe, index), index);
    }
    const known = outgoing.references === "none" ? [] : this.cache.findChunks(recipe.digests);
    const offsets = chunkOffsets(recipe);
    const items: Item[] = [];
    for (let index = 0; index < recipe.lengths.length; index++) {
      const length = recipe.lengths[index] ?? 0;
      const last = items.at(-1);
      const isInBase = last?.is === "copy" && base !== undefined && isSameVersion(last.version, base.version);
      if (isInBase && isChunk(base.recipe, last.at + last.count, recipe, index)) {
        last.count++;
        continue;
      }
      const own = ownPlaces.get(keyOf(recipe, index));
      if (own !== undefined && base !== undefined) {
        items.push({ is: "copy", version: base.version, at: own, from: index, count: 1 });
        continue;
      }
      const found = known[index];
      if (found !== undefined && found.length === length) {
        const { version } = found.content;
        const is = outgoing.references === "copies" && version.node !== 0 ? "copy" : "hash";
        const isNext = last?.is === is && isSameVersion(last.version, version) && last.at + last.count === found.index;
        if (isNext && last.count < LIMITS.recipeDescriptorsPerItem) last.count++;
        else items.push({ is, version, at: found.index, from: index, count: 1 });
        continue;
      }
      if (last?.is === "data" && last.length + length <= LIMITS.runBytes) {
        last.count++;
        last.length += length;
      } else items.push({ is: "data", from: index, count: 1, offset: offsets[index] ?? 0, length });
    }
    return items;
  }

  private countReuse(outgoing: Outgoing, item: Item): void {
    if (item.is === "data") return;
    if (outgoing.base !== undefined && isSameVersion(item.version, outgoing.base.version))
      this.reused.base += item.count;
    else this.reused.server += item.count;
    for (let index = item.from; index < item.from + item.count; index++)
      this.reused.bytes += outgoing.recipe.lengths[index] ?? 0;
  }
}

/** What to leave to the server in the next attempt, after this failure; undefined when that does not mend it. */
export function fewerReferences(before: References, error: unknown): References | undefined {
  if (before === "none" || !isRunnelError(error, "Gone", "Lost", "Corrupt", "Stale")) return undefined;
  return before === "copies" && error.kind === "Gone" ? "digests" : "none";
}

function isSameVersion(one: VersionId, other: VersionId): boolean {
  return one.node === other.node && one.seq === other.seq;
}

function splitRuns(
  recipe: Recipe,
  offsets: Float64Array,
  from: number,
  count: number,
): { offset: number; length: number }[] {
  const runs: { offset: number; length: number }[] = [];
  for (let index = from; index < from + count; index++) {
    const length = recipe.lengths[index] ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && last.length + length <= LIMITS.runBytes) last.length += length;
    else runs.push({ offset: offsets[index] ?? 0, length });
  }
  return runs;
}

function isChunk(base: Recipe, at: number, recipe: Recipe, index: number): boolean {
  if (at >= base.lengths.length || base.lengths[at] !== recipe.lengths[index]) return false;
  const theirs = base.digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
  return Buffer.compare(theirs, digestAt(recipe, index)) === 0;
}

function keyOf(recipe: Recipe, index: number): string {
  return Buffer.from(recipe.digests.buffer, recipe.digests.byteOffset + index * DIGEST_BYTES, DIGEST_BYTES).toString(
    "latin1",
  );
}
