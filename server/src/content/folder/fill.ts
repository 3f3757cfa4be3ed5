// Filling a temp with a pending content: log data, what the commit staged itself, and ranges of older versions, copied within the system. Bytes of
// older versions are digested afterwards against the recipe where an executor is at hand.
import type { DiskFile, Executor, Recipe, VersionId } from "@runnel/shared";
import { DIGEST_BYTES, RunnelError, chunkOffsets, digestAt, isRunnelError } from "@runnel/shared";
import type { ByteRange, ContentHost } from "../content-store.ts";
import type { MetaStore } from "../../meta/meta-store.ts";
import type { PendingContent } from "./pending-contents.ts";
import type { FolderVersion, Versions } from "./versions.ts";
import { writeSparsely } from "./write-sparsely.ts";

/** What one read from the log or an older version takes into memory. */
const BUFFER_BYTES = 1024 * 1024;

export interface FillContext {
  host: Pick<ContentHost, "readLog">;
  versions: Versions;
  meta: MetaStore;
  executor: Executor | undefined;
}

/** The bytes of a run could not be had: they have to be found elsewhere. */
function isMissing(error: unknown): boolean {
  return isRunnelError(error, "Gone", "Lost", "Stale");
}

/**
 * Writes the content's runs into the file, which then has its length.
 * @throws Lost when bytes of older versions cannot be had from anywhere; Stale when they may be had later; NoSpace, Io.
 */
export async function fill(
  context: FillContext,
  file: DiskFile,
  content: PendingContent,
  isWithinBatch: boolean,
): Promise<void> {
  const copied: ByteRange[] = [];
  let problem: unknown;
  let at = 0;
  // A new temp has the length of its runs, but for zeros that were left out.
  let hasLength = content.temp === "";
  for (const run of content.runs) {
    if (run.from === "log" && (await copyLog(context, file, content, run.at, at, run.length))) hasLength = false;
    if (run.from === "version") {
      hasLength = false;
      copied.push({ offset: at, length: run.length });
      problem = (await copyOlder(context, file, run, at, isWithinBatch)) ?? problem;
    }
    at += run.length;
  }
  if (!hasLength) await file.truncate(content.sizeBytes);
  const wrong = await wrongChunks(context, file, content.recipe, copied);
  if (wrong !== undefined && content.recipe !== undefined) await repair(context, file, content.recipe, wrong, problem);
  else if (problem !== undefined) throw problem;
}

/** True when zeros were left out. */
async function copyLog(
  { host }: FillContext,
  file: DiskFile,
  content: PendingContent,
  from: number,
  at: number,
  length: number,
): Promise<boolean> {
  let leftOut = false;
  if (content.data === undefined) throw new RunnelError("Corrupt", "bring up", "A commit has no data for its runs.");
  for (let done = 0; done < length; done += BUFFER_BYTES) {
    const count = Math.min(BUFFER_BYTES, length - done);
    const bytes = await host.readLog(content.data, from + done, count);
    if (await writeSparsely(file, at + done, bytes)) leftOut = true;
  }
  return leftOut;
}

/** Resolves to the reason when the bytes could not be had. */
async function copyOlder(
  { versions }: FillContext,
  file: DiskFile,
  run: { version: VersionId; offset: number; length: number },
  at: number,
  isWithinBatch: boolean,
): Promise<unknown> {
  let older: FolderVersion | undefined;
  try {
    older = await versions.open(run.version, isWithinBatch);
    await older.copyTo(file, run.offset, at, run.length, BUFFER_BYTES);
    return undefined;
  } catch (error) {
    if (!isMissing(error)) throw error;
    return error;
  } finally {
    await older?.close();
  }
}

/** Chunks that touch a copied range and are not what the recipe says; undefined when it cannot be told. */
async function wrongChunks(
  { executor }: FillContext,
  file: DiskFile,
  recipe: Recipe | undefined,
  copied: readonly ByteRange[],
): Promise<number[] | undefined> {
  if (executor === undefined || recipe === undefined) return undefined;
  const touched = chunksTouching(recipe, copied);
  if (touched.length === 0) return [];
  const offsets = chunkOffsets(recipe);
  const ranges = touched.map((index) => ({ offset: offsets[index] ?? 0, length: recipe.lengths[index] ?? 0 }));
  const digests = await executor.digestFile(file, ranges);
  return touched.filter((index, at) => {
    return Buffer.compare(digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES), digestAt(recipe, index)) !== 0;
  });
}

/** Both are in order of offset. */
function chunksTouching(recipe: Recipe, ranges: readonly ByteRange[]): number[] {
  const touched: number[] = [];
  let next = 0;
  let start = 0;
  for (let index = 0; index < recipe.lengths.length; index++) {
    const end = start + (recipe.lengths[index] ?? 0);
    for (let range = ranges[next]; range !== undefined && range.offset + range.length <= start; range = ranges[next])
      next++;
    const range = ranges[next];
    if (range !== undefined && range.offset < end) touched.push(index);
    start = end;
  }
  return touched;
}

/** Looks for wrong chunks in other versions that the chunk index knows. @throws `problem`, or Lost, when one is nowhere. */
async function repair(
  context: FillContext,
  file: DiskFile,
  recipe: Recipe,
  wrong: readonly number[],
  problem: unknown,
): Promise<void> {
  const offsets = chunkOffsets(recipe);
  for (const index of wrong) {
    const bytes = await findChunk(context, digestAt(recipe, index), recipe.lengths[index] ?? 0);
    if (bytes === undefined)
      throw (
        problem ?? new RunnelError("Lost", "bring up", "Bytes that a commit copied were destroyed by another program.")
      );
    await file.write(offsets[index] ?? 0, bytes);
  }
}

async function findChunk(
  { meta, executor, versions }: FillContext,
  digest: Uint8Array,
  length: number,
): Promise<Uint8Array | undefined> {
  const [place] = await meta.findChunks(digest);
  if (place === undefined || place.length !== length || executor === undefined) return undefined;
  let version: FolderVersion | undefined;
  try {
    version = await versions.open(place.version);
    const bytes = await version.read(place.offset, length);
    return Buffer.compare(await executor.digest([bytes]), digest) === 0 ? bytes : undefined;
  } catch (error) {
    // The index is a hint: whatever is wrong with it, the chunk is not there.
    if (isRunnelError(error, "Gone", "Lost", "Stale", "Invalid")) return undefined;
    throw error;
  } finally {
    await version?.close();
  }
}
