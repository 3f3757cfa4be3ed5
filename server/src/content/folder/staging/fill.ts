// Filling a temp with a pending content: log data, what the commit staged itself, and ranges of older versions, copied
// within the system. Bytes of older versions are digested afterwards against the recipe where an executor is at hand;
// what is wrong then is looked for elsewhere.
import type { ChunkPreset, DiskFile, Executor, Recipe, VersionId } from "@runnel/shared";
import {
  EMPTY_RECIPE,
  RunnelError,
  chunkRanges,
  digestAt,
  isRunnelError,
  presetFor,
  presetOf,
  wrongChunks,
} from "@runnel/shared";
import type { ByteRange, ContentCallbacks } from "../../content-store.ts";
import type { MetaStore } from "../../../meta/meta-store.ts";
import { joinRanges } from "../disk/byte-ranges.ts";
import type { PendingContent } from "../versions/pending-contents.ts";
import { sourcesOf } from "../versions/pending-contents.ts";
import { versionKey } from "../disk/store-layout.ts";
import type { FolderVersion, Versions } from "../versions/versions.ts";
import { writeSparsely } from "../disk/write-sparsely.ts";

/** Bytes that one read from the log or an older version takes into memory. */
const BUFFER_BYTES = 1024 * 1024;

export interface FillDeps {
  callbacks: Pick<ContentCallbacks, "readLog" | "askCommitter">;
  versions: Versions;
  meta: MetaStore;
  executor: Executor | undefined;
  /** Asked by the one who puts a batch in place, who must not wait for its end. */
  isApplying(): boolean;
}

/** The bytes of a run could not be had: they have to be found elsewhere. */
function isMissing(error: unknown): boolean {
  return isRunnelError(error, "Gone", "Lost", "Stale");
}

export interface Filled {
  /** Ranges that could not be had from anywhere, ascending: zeros there, or what another program has written. */
  missing: ByteRange[];
  /** A file just changed, and the rows do not say yet how: later more may be had. */
  mayComeBack: boolean;
}

/**
 * Writes the content's runs into the file, which then has its length. Bytes of older versions that are not where they
 * were are looked for by their digests.
 * @throws NoSpace, Io, Unavailable.
 */
export async function fill(deps: FillDeps, file: DiskFile, content: PendingContent): Promise<Filled> {
  const copied: ByteRange[] = [];
  const failed: ByteRange[] = [];
  let mayComeBack = false;
  let at = 0;
  // A new temp has the length of its runs, but for zeros that were skipped.
  let hasLength = content.temp === "";
  for (const run of content.runs) {
    if (run.from === "log" && (await copyLog(deps, file, content, run.at, at, run.length))) hasLength = false;
    if (run.from === "version") {
      hasLength = false;
      copied.push({ offset: at, length: run.length });
      const problem = await copyOlder(deps, file, run, at);
      if (problem !== undefined) failed.push({ offset: at, length: run.length });
      mayComeBack ||= isRunnelError(problem, "Stale");
    }
    at += run.length;
  }
  if (!hasLength) await file.truncate(content.sizeBytes);
  const { recipe } = content;
  if (recipe === undefined || deps.executor === undefined) return { missing: failed, mayComeBack };
  const wrong = await wrongOf(deps.executor, file, recipe, copied);
  const missing = wrong.length === 0 ? [] : await repair(deps, deps.executor, file, { ...content, recipe }, wrong);
  return { missing, mayComeBack };
}

/**
 * The last resort: what is missing is asked of the client that committed it, which may still have it. @returns what is
 * missing then.
 */
export async function askCommitter(
  { callbacks, executor }: FillDeps,
  file: DiskFile,
  content: PendingContent,
  missing: readonly ByteRange[],
): Promise<ByteRange[]> {
  const { recipe, instance, version } = content;
  if (recipe === undefined || executor === undefined || instance === "") return [...missing];
  await callbacks.askCommitter(instance, version, missing, (offset, bytes) => file.write(offset, bytes));
  return joinRanges(chunkRanges(recipe, await wrongOf(executor, file, recipe, missing)));
}

/** True when zeros were skipped. */
async function copyLog(
  { callbacks }: FillDeps,
  file: DiskFile,
  content: PendingContent,
  from: number,
  at: number,
  length: number,
): Promise<boolean> {
  let hasHoles = false;
  if (content.data === undefined) throw new RunnelError("Corrupt", "apply", "A commit has no data for its runs.");
  for (let done = 0; done < length; done += BUFFER_BYTES) {
    const count = Math.min(BUFFER_BYTES, length - done);
    const bytes = await callbacks.readLog(content.data, from + done, count);
    if (await writeSparsely(file, at + done, bytes)) hasHoles = true;
  }
  return hasHoles;
}

/** @returns why the bytes could not be had, if they could not. */
async function copyOlder(
  { versions, isApplying }: FillDeps,
  file: DiskFile,
  run: { version: VersionId; offset: number; length: number },
  at: number,
): Promise<unknown> {
  let older: FolderVersion | undefined;
  try {
    older = await versions.open(run.version, isApplying());
    await older.copyTo(file, run.offset, at, run.length, BUFFER_BYTES);
    return undefined;
  } catch (error) {
    if (!isMissing(error)) throw error;
    return error;
  } finally {
    await older?.close();
  }
}

/** Chunks that touch a copied range and are not what the recipe says. */
async function wrongOf(
  executor: Executor,
  file: DiskFile,
  recipe: Recipe,
  copied: readonly ByteRange[],
): Promise<number[]> {
  const touched = chunksTouching(recipe, copied);
  if (touched.length === 0) return [];
  return wrongChunks(recipe, touched, await executor.digestFile(file, chunkRanges(recipe, touched)));
}

/** Both are in order of offset. */
function chunksTouching(recipe: Recipe, ranges: readonly ByteRange[]): number[] {
  const touched: number[] = [];
  let next = 0;
  let start = 0;
  for (const [index, length] of recipe.lengths.entries()) {
    const end = start + length;
    for (let range = ranges[next]; range !== undefined && range.offset + range.length <= start; range = ranges[next])
      next++;
    const range = ranges[next];
    if (range !== undefined && range.offset < end) touched.push(index);
    start = end;
  }
  return touched;
}

/**
 * Looks for wrong chunks in the files that other programs have changed, wherever in them, and in other versions that
 * the chunk index knows.
 * @returns what is nowhere.
 */
async function repair(
  deps: FillDeps,
  executor: Executor,
  file: DiskFile,
  content: PendingContent & { recipe: Recipe },
  wrong: readonly number[],
): Promise<ByteRange[]> {
  const { recipe } = content;
  const missing: ByteRange[] = [];
  const changed = new ChangedFiles(deps, executor, content);
  const known = new KnownVersions(deps, executor);
  try {
    const hints = await deps.meta.findChunks(Buffer.concat(wrong.map((index) => digestAt(recipe, index))));
    for (const [at, { offset, length }] of chunkRanges(recipe, wrong).entries()) {
      const chunk = { digest: digestAt(recipe, wrong[at] ?? 0), length };
      const bytes = (await changed.find(chunk)) ?? (await known.read(hints[at], chunk));
      if (bytes === undefined) missing.push({ offset, length });
      else await file.write(offset, bytes);
    }
  } finally {
    await known.close();
    await changed.close();
  }
  return joinRanges(missing);
}

interface Chunk {
  digest: Uint8Array;
  length: number;
}

async function isChunk(executor: Executor, bytes: Uint8Array, { digest, length }: Chunk): Promise<boolean> {
  return bytes.length === length && Buffer.compare(await executor.digest([bytes]), digest) === 0;
}

/** Versions that the chunk index names, each opened once. */
class KnownVersions {
  readonly #deps: FillDeps;
  readonly #executor: Executor;
  /** Opened versions; undefined when one cannot be read. */
  readonly #open = new Map<string, FolderVersion | undefined>();

  constructor(deps: FillDeps, executor: Executor) {
    this.#deps = deps;
    this.#executor = executor;
  }

  /** @returns undefined when it is not there: places are hints. */
  async read(
    place: { version: VersionId; offset: number; length: number } | undefined,
    chunk: Chunk,
  ): Promise<Uint8Array | undefined> {
    if (place === undefined || place.length !== chunk.length) return undefined;
    const key = versionKey(place.version);
    try {
      if (!this.#open.has(key)) {
        this.#open.set(key, undefined);
        this.#open.set(key, await this.#deps.versions.open(place.version, this.#deps.isApplying()));
      }
      const bytes = await this.#open.get(key)?.read(place.offset, chunk.length);
      return bytes !== undefined && (await isChunk(this.#executor, bytes, chunk)) ? bytes : undefined;
    } catch (error) {
      if (!isMissing(error) && !isRunnelError(error, "Invalid")) throw error;
      await this.#open.get(key)?.close();
      this.#open.set(key, undefined);
      return undefined;
    }
  }

  async close(): Promise<void> {
    for (const open of this.#open.values()) await open?.close();
  }
}

/** The files of versions as they are now, cut anew: what a program moved within one is found. */
class ChangedFiles {
  readonly #deps: FillDeps;
  readonly #executor: Executor;
  readonly #content: PendingContent & { recipe: Recipe };
  #places: Map<string, { file: DiskFile; offset: number }> | undefined;
  readonly #files: DiskFile[] = [];

  constructor(deps: FillDeps, executor: Executor, content: PendingContent & { recipe: Recipe }) {
    this.#deps = deps;
    this.#executor = executor;
    this.#content = content;
  }

  async find(chunk: Chunk): Promise<Uint8Array | undefined> {
    this.#places ??= await this.#cut();
    const place = this.#places.get(keyOf(chunk.digest));
    if (place === undefined) return undefined;
    const bytes = await place.file.read(place.offset, chunk.length);
    return (await isChunk(this.#executor, bytes, chunk)) ? bytes : undefined;
  }

  async #cut(): Promise<Map<string, { file: DiskFile; offset: number }>> {
    const places = new Map<string, { file: DiskFile; offset: number }>();
    const preset = presetOf(this.#content.recipe) ?? presetFor(this.#content.sizeBytes);
    for (const { version } of sourcesOf(this.#content)) {
      const file = await this.#deps.versions.changedFile(version);
      if (file === undefined) continue;
      this.#files.push(file);
      const found = await this.#recipeOf(file, preset);
      for (const [index, { offset }] of chunkRanges(found).entries())
        places.set(keyOf(digestAt(found, index)), { file, offset });
    }
    return places;
  }

  async #recipeOf(file: DiskFile, preset: ChunkPreset): Promise<Recipe> {
    try {
      return await this.#executor.chunkFile(file, 0, (await file.stat()).sizeBytes, preset);
    } catch (error) {
      // Cut shorter meanwhile.
      if (isRunnelError(error, "Stale")) return EMPTY_RECIPE;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
  }
}

function keyOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString("latin1");
}
