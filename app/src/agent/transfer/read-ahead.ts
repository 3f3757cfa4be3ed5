// Reads ahead for a program that walks a tree: the small files that it is likely to open next come in one stream,
// before it asks for each. The walks choose them (walks.ts); here they are asked for, verified, and put into the cache,
// in the background of what is asked for by name.
import type { Channel, Clock, Executor, FindGetItem, Recipe, Timer } from "@runnel/shared";
import {
  FIND_GET_ITEM,
  LIMITS,
  RunnelError,
  check,
  chunkOffsets,
  decodeRecipe,
  encodeRecipe,
  isRunnelError,
  DIGEST_BYTES,
  recipeSize,
} from "@runnel/shared";
import type { NodeState } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Transfer, Transfers } from "../view/transfers.ts";
import type { Session } from "../wire/session.ts";
import type { SmallFromOthers } from "./small-from-others.ts";
import type { Names } from "./walk.ts";
import { Walks } from "./walks.ts";

/** Time after which a walk has stopped, when nobody opens what came ahead. */
const STOPPED_MS = 5_000;
/** Someone who waits for a file that comes behind more than this asks for it by name. */
const NEAR_BYTES = 512 * 1024;
const STORED_AT_ONCE = 8;
const AHEAD_BYTES_MAX = 64 * 1024 * 1024;

/** A small file asked for ahead. */
interface IncomingFile {
  state: NodeState;
  /** Bytes of the stream up to its end. */
  upTo: number;
  arrived: Promise<void>;
  settle(): void;
}

interface Stream {
  /** Aborted when it is paused, or nobody walks any more. */
  over: AbortController;
  /** A program is likely to read it. */
  isRead: boolean;
  files: IncomingFile[];
  receivedBytes: number;
  transfer: Transfer;
}

export interface ReadAheadDeps {
  cache: Cache;
  session: Pick<Session, "isResponsive" | "open" | "whileAlive">;
  executor: Executor;
  transfers: Pick<Transfers, "begin">;
  clock: Clock;
  names: Names;
  pauses: Passages;
  /** Asked first. */
  others: Pick<SmallFromOthers, "bring">;
  /** Bytes that may lie in the cache for nobody yet. */
  aheadBytesMax: number;
  log(message: string, error: unknown): void;
}

export class ReadAhead {
  readonly #deps: ReadAheadDeps;
  readonly #walks: Walks;
  readonly #streams = new Set<Stream>();
  readonly #incoming = new Map<string, { stream: Stream; file: IncomingFile }>();
  #timer: Timer | undefined;
  #isUnsupported = false;

  constructor(deps: ReadAheadDeps) {
    this.#deps = deps;
    const aheadBytesMax = Math.min(deps.aheadBytesMax, AHEAD_BYTES_MAX);
    this.#walks = new Walks(deps.names, (state) => this.#isHere(state), aheadBytesMax);
  }

  /** A program opens a file to read it. */
  opened(state: NodeState): void {
    if (this.#isUnsupported || state.sizeBytes > LIMITS.smallFileBytes || !this.#deps.session.isResponsive) return;
    const wanted = this.#walks.opened(state);
    if (this.#walks.isWalking) this.#watch();
    const files = wanted.filter((each) => !this.#isPaused(each));
    if (files.length > 0) void this.#begin(files, true);
  }

  /**
   * Brings small files that are to be kept here, whoever opens them. Resolves when they have come, or as many as do:
   * whoever asks looks again.
   */
  async bring(wanted: readonly NodeState[]): Promise<void> {
    const files = wanted.filter((state) => !this.#isHere(state));
    if (this.#isUnsupported || files.length === 0 || !this.#deps.session.isResponsive) return;
    await this.#begin(files, false);
  }

  /** Resolves when a content that comes ahead, and soon, has come or will not; at once for all others. */
  async arrived({ version }: CachedContent): Promise<void> {
    const found = this.#incoming.get(keyOf(version.node, version.seq));
    if (found === undefined || found.file.upTo - found.stream.receivedBytes > NEAR_BYTES) return;
    await found.file.arrived;
  }

  /** Ends streams that bring something of what is paused now: whoever wants the rest asks again. */
  pausesChanged(): void {
    for (const { over, files } of this.#streams)
      if (files.some(({ state }) => this.#isPaused(state))) over.abort(ended());
  }

  #isPaused({ node }: NodeState): boolean {
    return this.#deps.pauses.isPaused([node]);
  }

  close(): void {
    this.#timer?.cancel();
    for (const { over } of this.#streams) over.abort(ended());
  }

  #isHere({ node, version, sizeBytes }: NodeState): boolean {
    if (this.#incoming.has(keyOf(node, version))) return true;
    const content = this.#deps.cache.find({ node, seq: version });
    return content !== undefined && this.#deps.cache.absent(content, { offset: 0, length: sizeBytes }).length === 0;
  }

  #watch(): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(STOPPED_MS, () => {
      this.#walks.stopped();
      for (const { over, isRead } of this.#streams) if (isRead) over.abort(ended());
    });
  }

  /** Resolves when it has ended, whatever came of it. */
  async #begin(wanted: readonly NodeState[], isRead: boolean): Promise<void> {
    const files = wanted.map((state): IncomingFile => {
      const { promise: arrived, resolve: settle } = Promise.withResolvers<void>();
      return { state, upTo: 0, arrived, settle };
    });
    const stream = {
      over: new AbortController(),
      isRead,
      files,
      receivedBytes: 0,
      transfer: this.#enter(wanted, isRead),
    };
    setEnds(files);
    this.#streams.add(stream);
    for (const file of files) this.#incoming.set(keyOf(file.state.node, file.state.version), { stream, file });
    try {
      await this.#bring(stream);
    } catch (error) {
      if (isRunnelError(error, "Unsupported")) this.#isUnsupported = true;
      else if (!isRunnelError(error, "Interrupted", "Unreachable", "Busy"))
        this.#deps.log("Files could not be read ahead.", error);
    } finally {
      stream.transfer[Symbol.dispose]();
      this.#streams.delete(stream);
      for (const file of files) this.#settle(file);
    }
  }

  async #bring(stream: Stream): Promise<void> {
    const { files, isRead, transfer, over } = stream;
    const states = files.map(({ state }) => state);
    const absent = new Map(files.map((file) => [file.state, file]));
    const came = (state: NodeState): void => {
      const file = absent.get(state);
      absent.delete(state);
      if (file !== undefined) this.#settle(file);
    };
    await this.#deps.others.bring(states, { isWaitedFor: isRead, transfer, signal: over.signal, came });
    stream.files = [...absent.values()];
    if (stream.files.length === 0) return;
    setEnds(stream.files);
    over.signal.throwIfAborted();
    const channel = this.#opened(stream.files);
    if (channel === undefined) return;
    const stop = (): void => channel.cancel();
    over.signal.addEventListener("abort", stop);
    try {
      await this.#receive(stream, channel);
    } finally {
      channel.cancel();
    }
  }

  /** @returns undefined without a link, or with too many requests: whoever opens the files asks for them. */
  #opened(files: readonly IncomingFile[]): Channel | undefined {
    try {
      const versions = files.map(({ state }) => [state.node, state.version]);
      return this.#deps.session.open("findGet", { versions }, true);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return undefined;
    }
  }

  /** Enters a stream as one transfer, in the folder of its first file. */
  #enter(wanted: readonly NodeState[], isRead: boolean): Transfer {
    const file = wanted[0]?.node ?? 0;
    const totalBytes = wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return this.#deps.transfers.begin({ direction: "down", file, files: wanted.length, totalBytes, isRead });
  }

  #settle(file: IncomingFile): void {
    const key = keyOf(file.state.node, file.state.version);
    if (this.#incoming.get(key)?.file === file) this.#incoming.delete(key);
    file.settle();
  }

  async #receive(stream: Stream, channel: Channel): Promise<void> {
    const { session } = this.#deps;
    for (;;) {
      const message = await session.whileAlive(channel.next(), "findGet");
      if (message === undefined) return;
      const item = check(FIND_GET_ITEM, message, "findGet item");
      const encoded = await session.whileAlive(channel.readBulk(item[4]), "findGet");
      await this.#take(stream, item, encoded);
      stream.transfer.moved(item[3], encoded.length, false);
      stream.transfer.arrived(item[3]);
    }
  }

  async #take(stream: Stream, [, named, encoding, rawBytes]: FindGetItem, encoded: Uint8Array): Promise<void> {
    const { executor } = this.#deps;
    const bytes = encoding === "zstd" ? await executor.decompress(encoded, rawBytes) : encoded;
    const came: { file: IncomingFile; recipe: Recipe; bytes: Uint8Array }[] = [];
    let at = 0;
    for (const [index, descriptors] of named) {
      const file = stream.files[index];
      const recipe = decodeRecipe(descriptors);
      const length = recipeSize(recipe);
      if (file === undefined || length !== file.state.sizeBytes) throw unexpected();
      came.push({ file, recipe, bytes: bytes.subarray(at, at + length) });
      at += length;
    }
    if (at !== bytes.length) throw unexpected();
    await this.#verify(came);
    for (let from = 0; from < came.length; from += STORED_AT_ONCE) {
      const some = came.slice(from, from + STORED_AT_ONCE);
      await Promise.all(some.map(({ file, recipe, bytes: content }) => this.#store(file.state, recipe, content)));
      for (const { file } of some) {
        stream.receivedBytes = Math.max(stream.receivedBytes, file.upTo);
        this.#settle(file);
      }
    }
  }

  /** @throws Corrupt when a chunk is not what its recipe says. */
  async #verify(came: readonly { recipe: Recipe; bytes: Uint8Array }[]): Promise<void> {
    const chunks = came.flatMap(({ recipe, bytes }) => {
      const offsets = chunkOffsets(recipe);
      return Array.from(recipe.lengths, (_, index) => bytes.subarray(offsets[index], offsets[index + 1]));
    });
    const digests = await this.#deps.executor.digest(chunks);
    let at = 0;
    for (const { recipe } of came) {
      const end = at + recipe.lengths.length * DIGEST_BYTES;
      if (Buffer.compare(digests.subarray(at, end), recipe.digests) !== 0)
        throw new RunnelError("Corrupt", "findGet", "What came is not what the recipe says.");
      at = end;
    }
  }

  async #store({ node, version, sizeBytes }: NodeState, recipe: Recipe, bytes: Uint8Array): Promise<void> {
    const { cache, executor } = this.#deps;
    using hold = await cache.create({ node, seq: version }, sizeBytes);
    cache.setRecipe(hold.content, recipe, await executor.digest([encodeRecipe(recipe)]));
    await cache.write(hold.content, 0, bytes);
  }
}

/** Sets where each ends in a stream of them. */
function setEnds(files: readonly IncomingFile[]): void {
  let upTo = 0;
  for (const file of files) file.upTo = upTo += file.state.sizeBytes;
}

function ended(): RunnelError {
  return new RunnelError("Interrupted", "findGet", "It is not read ahead any more.");
}

function keyOf(node: number, seq: number): string {
  return `${node}:${seq}`;
}

function unexpected(): RunnelError {
  return new RunnelError("Invalid", "findGet", "A stream of files brought something unexpected.");
}
