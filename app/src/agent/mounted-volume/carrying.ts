// A drive's part in what is carried on a stick: its contents go out, and what is still current comes in.
import {
  type Executor,
  LIMITS,
  type NodeState,
  type Recipe,
  RunnelError,
  chunkOffsets,
  isRunnelError,
  nextTurn,
  presetFor,
  presetOf,
  recipeSize,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { CarryingMount, DriveCarriesOut, DriveTakesIn } from "../carry/carried.ts";
import { type ExportDeps, openUnsent } from "../drive/saving/export-unsent.ts";
import type { UnsentSaves } from "../drive/saving/unsent.ts";
import type { JournalCommit } from "../journal/journal.ts";
import { FilesBelow } from "../pins/files-below.ts";
import type { Replica } from "../replica/replica.ts";
import { ComposedContent } from "../transfer/compose.ts";
import { CutContent } from "../transfer/cut-content.ts";
import type { ChunkSpan, ChunkSource } from "../transfer/sources/chunk-source.ts";

export interface CarryingDeps extends ExportDeps {
  replica: Replica;
  cache: Cache;
  executor: Executor;
  unsent: UnsentSaves;
  /** The node at a path in the drive. @throws NotFound. */
  nodeAt(operation: string, path: string): Promise<number>;
  epoch(): string;
  /** The whole tree is known: what is not in it is not there. */
  listed(): Promise<void>;
  addSource(source: ChunkSource): Disposable;
  /** Bytes that cached contents may take. */
  cacheBytesMax(): number;
}

const ENTRIES_AT_ONCE = 256;
const KEYS_AT_ONCE = 4096;

/** Bytes of a content for the sink, a range of it at a time. */
interface Readable {
  version: { node: number; seq: number };
  sizeBytes: number;
  recipe: Recipe;
  read(offset: number, length: number): Promise<Uint8Array>;
}

export class Carrying implements CarryingMount {
  readonly #deps: CarryingDeps;

  constructor(deps: CarryingDeps) {
    this.#deps = deps;
  }

  get epoch(): string {
    return this.#deps.epoch();
  }

  async carryOut(out: DriveCarriesOut, paths: readonly string[]): Promise<void> {
    const { replica, nodeAt, listed } = this.#deps;
    if (paths.length > 0) await listed();
    for (const path of paths) {
      const below = new FilesBelow(replica, await nodeAt("carry out", path));
      for (let files = below.next(ENTRIES_AT_ONCE); files !== undefined; files = below.next(ENTRIES_AT_ONCE)) {
        for (const state of files) await this.#carryFile(out, state);
        await new Promise<void>(nextTurn);
      }
    }
    for (const { record } of this.#deps.unsent.items()) await this.#carryUnsent(out, record);
  }

  async takeIn(taking: DriveTakesIn): Promise<void> {
    await this.#deps.listed();
    const added = this.#deps.addSource(taking.source);
    try {
      await this.#take(taking);
    } finally {
      added[Symbol.dispose]();
    }
  }

  async #take(taking: DriveTakesIn): Promise<void> {
    const { replica, cache, downloads } = this.#deps;
    for await (const [node, seq, sizeBytes, path] of taking.versions(this.epoch)) {
      if (taking.signal.aborted) return;
      const state = replica.node(node);
      if (state?.type !== "file" || state.nlink === 0 || state.version !== seq || state.sizeBytes !== sizeBytes) {
        taking.took("superseded", sizeBytes);
        continue;
      }
      if (this.#isHere(state)) {
        taking.took("already", sizeBytes);
        continue;
      }
      try {
        this.#mustFit(sizeBytes);
        using hold = await cache.create({ node, seq }, sizeBytes);
        await downloads.keep(hold.content, taking.signal);
        taking.took("here", sizeBytes);
      } catch (error) {
        if (taking.signal.aborted || isRunnelError(error, "Unreachable", "NoSpace")) throw error;
        taking.failed(path, error);
      }
    }
  }

  async *chunkKeys(): AsyncGenerator<readonly bigint[]> {
    for (let after: bigint | undefined; ;) {
      const keys = this.#deps.cache.chunkKeys(after, KEYS_AT_ONCE);
      if (keys.length === 0) return;
      yield keys;
      after = keys.at(-1);
      await new Promise<void>(nextTurn);
    }
  }

  async #carryFile(out: DriveCarriesOut, { node, version: seq, sizeBytes, nlink }: NodeState): Promise<void> {
    const { cache, downloads, replica } = this.#deps;
    const path = replica.pathOf(node) ?? "";
    if (nlink === 0 || sizeBytes === 0 || seq === 0 || path === "") return;
    out.signal.throwIfAborted();
    try {
      using hold = await cache.create({ node, seq }, sizeBytes);
      await downloads.keep(hold.content, out.signal);
      const content = cache.byId(hold.content.id) ?? hold.content;
      const read = (offset: number, length: number): Promise<Uint8Array> => cache.read(content, offset, length);
      await give(out, { version: { node, seq }, sizeBytes, recipe: await this.#recipeOf(content), read }, []);
      await out.carried([node, seq, sizeBytes, path]);
    } catch (error) {
      if (out.signal.aborted || !isRunnelError(error, "Gone", "Lost", "Stale", "Corrupt", "NotFound")) throw error;
      out.failed(path, error);
    }
  }

  /** The server has none yet of a file that was just put into its folder: it is cut here, as a new file is there. */
  async #recipeOf(content: CachedContent): Promise<Recipe> {
    const { recipe, sizeBytes } = content;
    if (recipe !== undefined && recipeSize(recipe) === sizeBytes) return recipe;
    const file = await this.#deps.cache.openFile(content);
    try {
      const composed = new ComposedContent([{ file, offset: 0, length: sizeBytes }], []);
      return (await new CutContent(composed, this.#deps.executor, presetFor(sizeBytes)).whole()).recipe;
    } finally {
      await file.close();
    }
  }

  async #carryUnsent(out: DriveCarriesOut, record: JournalCommit): Promise<void> {
    if (record.sizeBytes === 0) return;
    out.signal.throwIfAborted();
    try {
      const { composed, base, close } = await openUnsent(this.#deps, record);
      try {
        const known = base?.recipe && presetOf(base.recipe);
        const cut = new CutContent(composed, this.#deps.executor, known ?? presetFor(record.sizeBytes));
        const { recipe } = await cut.whole();
        const read = async (offset: number, length: number): Promise<Uint8Array> => {
          const bytes = new Uint8Array(length);
          await composed.read(offset, bytes);
          return bytes;
        };
        const version = { node: record.node, seq: 0 };
        await give(out, { version, sizeBytes: record.sizeBytes, recipe, read }, composed.absent());
        out.carriedUnsent(record.sizeBytes);
      } finally {
        await close();
      }
    } catch (error) {
      if (out.signal.aborted || !isRunnelError(error, "Gone", "Lost", "Stale", "Corrupt", "NotFound", "Unreachable"))
        throw error;
      out.failed(record.path, error);
    }
  }

  /** Looks before anything else is dropped for it, as what came just before. @throws Quota. */
  #mustFit(sizeBytes: number): void {
    const most = this.#deps.cacheBytesMax();
    if (this.#deps.cache.usedBytes() + sizeBytes <= most) return;
    const sentence = "The cache may take no more. Give it more, or free some: runnel set --cache-size, runnel evict";
    throw new RunnelError("Quota", "carry in", sentence, { detail: { limit: most } });
  }

  #isHere({ node, version, sizeBytes }: NodeState): boolean {
    const content = this.#deps.cache.find({ node, seq: version });
    if (content === undefined || content.sizeBytes !== sizeBytes) return false;
    return this.#deps.cache.absent(content, { offset: 0, length: sizeBytes }).length === 0;
  }
}

/** Gives the sink what it lacks, but for chunks that touch what is not here. */
async function give(
  { sink, signal }: DriveCarriesOut,
  { version, sizeBytes, recipe, read }: Readable,
  absent: readonly { offset: number; length: number }[],
): Promise<void> {
  const content = { version, sizeBytes, recipe };
  const offsets = chunkOffsets(recipe);
  const at = (index: number): number => offsets[index] ?? 0;
  const isAbsent = (from: number, to: number): boolean =>
    absent.some(({ offset, length }) => offset < at(to) && offset + length > at(from));
  for (const all of slices({ from: 0, count: recipe.lengths.length })) {
    for (const { from, count } of await sink.lacks(content, [all])) {
      for (let index = from; index < from + count;) {
        signal.throwIfAborted();
        let to = index + 1;
        while (to < from + count && at(to + 1) - at(index) <= LIMITS.runBytes && absent.length === 0) to++;
        if (!isAbsent(index, to)) {
          const bytes = await read(at(index), at(to) - at(index));
          await sink.put(content, { from: index, count: to - index, bytes });
        }
        index = to;
      }
    }
    await new Promise<void>(nextTurn);
  }
}

/** Spans so small that looking through one holds nobody up. */
function* slices({ from, count }: ChunkSpan): Generator<ChunkSpan> {
  for (let at = from; at < from + count; at += ENTRIES_AT_ONCE)
    yield { from: at, count: Math.min(ENTRIES_AT_ONCE, from + count - at) };
}
