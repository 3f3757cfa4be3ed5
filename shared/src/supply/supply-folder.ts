// A folder of which chunks are read where they lie, whatever else writes to it: an old copy, another tool's folder, a
// stick. Its root is open only while it is read, so that a stick can be pulled out. Whoever takes chunks digests them,
// and says which were wrong.
import { RunnelError, isRunnelError } from "../errors.ts";
import type { Clock } from "../host/clock.ts";
import type { DiskFile, DiskRoot } from "../host/disk.ts";
import type { Executor } from "../host/executor.ts";
import { nextTurn } from "../host/next-turn.ts";
import { type ChunkSpan, indexesOf, joinIndexes } from "../model/chunk-spans.ts";
import { RecentMap } from "../model/recent-map.ts";
import { DIGEST_BYTES, type Recipe } from "../model/recipe.ts";
import { type Scanned, isPack, scanFolder, stampOf } from "./scan-folder.ts";
import { CARRY_FOLDER } from "./stick-names.ts";
import type { ChunkPlace, SupplyIndex } from "./supply-index.ts";
import { SUPPLY_LIMITS } from "./supply-limits.ts";

/** Chunks looked up in one turn of the event loop. */
const LOOKED_UP_AT_ONCE = 512;
/** Chunks of which it is known which file they were taken from. */
const GIVEN_MAX = 65_536;
/** Chunks of which it is known that they have rotten. */
const ROTTEN_MAX = 65_536;

export interface SupplyFolderDeps {
  path: string;
  index: SupplyIndex;
  executor: Executor;
  clock: Clock;
  openRoot(path: string): Promise<DiskRoot>;
  /** The folder in it that is looked through; all of it unless it is said. */
  within?: string;
}

/** All bytes of the chunks of a span, 1 MiB at the most unless it is one chunk. */
export interface SuppliedRun extends ChunkSpan {
  readonly bytes: Uint8Array;
}

/** The content that chunks are wanted for. */
export interface SuppliedContent {
  readonly recipe: Recipe;
}

/** Chunks that lie one behind the other in a file. */
interface Reading extends ChunkPlace {
  readonly from: number;
  count: number;
}

export class SupplyFolder {
  readonly path: string;
  readonly #deps: SupplyFolderDeps;
  /** Files that are not as the index says, until they are looked at again. */
  readonly #doubtful = new Set<number>();
  /** Chunks of packs that have rotten, or cannot be read: nobody writes to a pack, so the others are as they were. */
  readonly #rotten = new RecentMap<string, true>(ROTTEN_MAX);
  /** File that a chunk was taken from lately. */
  readonly #given = new RecentMap<string, number>(GIVEN_MAX);
  #isAway = false;
  #isStick = false;

  constructor(deps: SupplyFolderDeps) {
    this.#deps = deps;
    this.path = deps.path;
  }

  /** It could not be read: a stick was pulled out. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** It was a stick when it was opened last: a folder that somebody has carried to. */
  get isStick(): boolean {
    return this.#isStick;
  }

  /** Files are to be looked at again. */
  get hasDoubts(): boolean {
    return this.#doubtful.size > 0;
  }

  /** Brings the index up to the folder. @throws Interrupted; Unavailable and others where it cannot be read. */
  async scan(
    signal: AbortSignal,
    progress: (scanned: Scanned) => void,
    leavesOut: (path: string) => boolean = () => false,
  ): Promise<Scanned> {
    const { clock, executor, index, within = "" } = this.#deps;
    try {
      await using root = await this.#root();
      const before = new Set(this.#doubtful);
      const isDoubtful = (file: number): boolean => before.has(file);
      const how = { index, executor, clock, signal, isDoubtful, leavesOut, within, progress };
      const scanned = await scanFolder({ root: root.root, ...how });
      for (const file of before) this.#doubtful.delete(file);
      this.#isAway = false;
      return scanned;
    } catch (error) {
      if (isRunnelError(error) && !isRunnelError(error, "Interrupted", "Corrupt")) this.#isAway = true;
      throw error;
    }
  }

  /** Returns which of the chunks it is likely to have, ascending. */
  async locate(content: SuppliedContent, spans: readonly ChunkSpan[], signal: AbortSignal): Promise<ChunkSpan[]> {
    const found: number[] = [];
    let looked = 0;
    for (const index of this.#isAway ? [] : indexesOf(spans)) {
      if (++looked % LOOKED_UP_AT_ONCE === 0) await new Promise<void>(nextTurn);
      if (signal.aborted) break;
      if (this.#placeOf(content, index, undefined) !== undefined) found.push(index);
    }
    return joinIndexes(found);
  }

  /** Brings chunks that it has. @throws what says that the folder is not there. */
  async *get(content: SuppliedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<SuppliedRun> {
    await using root = await this.#root();
    await using files = new OpenFiles(root.root);
    for (const span of spans) {
      for (let index = span.from; index < span.from + span.count;) {
        if (signal.aborted) return;
        const reading = this.#readingAt(content, index, span.from + span.count);
        const bytes = reading && (await this.#read(files, content, reading));
        if (reading !== undefined && bytes !== undefined) {
          this.#note(content, reading);
          yield { from: reading.from, count: reading.count, bytes };
          index += reading.count;
        } else if (reading === undefined) index++;
        // Else the file became doubtful: another one may have the chunk.
        if (index % LOOKED_UP_AT_ONCE === 0) await new Promise<void>(nextTurn);
      }
    }
  }

  /** A chunk was not what its digest says. */
  wrong(content: SuppliedContent, index: number): void {
    const key = keyOf(content, index);
    const file = this.#given.get(key);
    this.#given.delete(key);
    if (file !== undefined) this.#doubt(content, { file, from: index, count: 1 });
    else {
      const { lengths, digests } = content.recipe;
      for (const place of this.#deps.index.places(digests, index, lengths[index] ?? 0))
        this.#doubt(content, { file: place.file, from: index, count: 1 });
    }
  }

  #doubt(content: SuppliedContent, { file, from, count }: Pick<Reading, "file" | "from" | "count">): void {
    if (!isPack(this.#deps.index.file(file)?.path ?? "")) this.#doubtful.add(file);
    else for (let index = from; index < from + count; index++) this.#rotten.set(keyIn(file, content, index), true);
  }

  #note(content: SuppliedContent, { from, count, file }: Reading): void {
    for (let index = from; index < from + count; index++) this.#given.set(keyOf(content, index), file);
  }

  #placeOf(content: SuppliedContent, index: number, near: ChunkPlace | undefined): ChunkPlace | undefined {
    const { recipe } = content;
    const length = recipe.lengths[index];
    if (length === undefined) return undefined;
    const places = this.#deps.index
      .places(recipe.digests, index, length)
      .filter(({ file }) => !this.#doubtful.has(file) && !this.#rotten.has(keyIn(file, content, index)));
    const isNext = ({ file, offset }: ChunkPlace): boolean =>
      file === near?.file && offset === near.offset + near.length;
    return places.find(isNext) ?? places[0];
  }

  /** The chunk at an index, and those behind it as far as they lie behind it in the file. */
  #readingAt(content: SuppliedContent, from: number, to: number): Reading | undefined {
    const first = this.#placeOf(content, from, undefined);
    if (first === undefined) return undefined;
    const reading: Reading = { ...first, from, count: 1 };
    for (let index = from + 1; index < to; index++) {
      const next = this.#placeOf(content, index, reading);
      if (next?.file !== reading.file || next.offset !== reading.offset + reading.length) break;
      if (reading.length + next.length > SUPPLY_LIMITS.runBytes) break;
      reading.length += next.length;
      reading.count++;
    }
    return reading;
  }

  /** @returns undefined where the file is not as it was. @throws what says that the folder is not there. */
  async #read(files: OpenFiles, content: SuppliedContent, reading: Reading): Promise<Uint8Array | undefined> {
    const known = this.#deps.index.file(reading.file);
    try {
      const opened = known && (await files.open(known.path));
      if (opened === undefined || opened.stamp !== known?.stamp) {
        this.#doubtful.add(reading.file);
        return undefined;
      }
      const bytes = await opened.file.read(reading.offset, reading.length);
      if (bytes.length === reading.length) return bytes;
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      await this.#mustBeThere(files);
    }
    this.#doubt(content, reading);
    return undefined;
  }

  async #mustBeThere(files: OpenFiles): Promise<void> {
    try {
      let entries = 0;
      await files.root.list("", (some) => void (entries += some.length));
      if (entries > 0) return;
    } catch (error) {
      if (!isRunnelError(error)) throw error;
    }
    this.#isAway = true;
    throw new RunnelError("Unavailable", "read a supply", `${this.path} is not there now.`);
  }

  async #root(): Promise<{ root: DiskRoot } & AsyncDisposable> {
    try {
      const root = await this.#deps.openRoot(this.#deps.path);
      const [carry] = await root.statAll([CARRY_FOLDER]);
      this.#isStick = typeof carry === "object" && carry.type === "folder";
      return { root, [Symbol.asyncDispose]: () => root.close() };
    } catch (error) {
      if (isRunnelError(error)) this.#isAway = true;
      throw error;
    }
  }
}

/** Files that are read at the moment, the longest unused closed first. */
class OpenFiles implements AsyncDisposable {
  readonly root: DiskRoot;
  readonly #files = new Map<string, { file: DiskFile; stamp: string }>();

  constructor(root: DiskRoot) {
    this.root = root;
  }

  async open(path: string): Promise<{ file: DiskFile; stamp: string }> {
    let opened = this.#files.get(path);
    if (opened === undefined) {
      const file = await this.root.open(path, "read");
      try {
        opened = { file, stamp: stampOf(await file.stat()) };
      } catch (error) {
        await file.close();
        throw error;
      }
    }
    this.#files.delete(path);
    this.#files.set(path, opened);
    const [oldest] = this.#files;
    if (this.#files.size > SUPPLY_LIMITS.openFiles && oldest !== undefined) {
      this.#files.delete(oldest[0]);
      await oldest[1].file.close();
    }
    return opened;
  }

  /** Failures to close are nothing: files that were only read lose nothing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#files.values()].map(({ file }) => file.close()));
  }
}

function keyIn(file: number, content: SuppliedContent, index: number): string {
  return `${file} ${keyOf(content, index)}`;
}

function keyOf({ recipe }: SuppliedContent, index: number): string {
  const at = recipe.digests.byteOffset + index * DIGEST_BYTES;
  return Buffer.from(recipe.digests.buffer, at, DIGEST_BYTES).toString("latin1");
}
