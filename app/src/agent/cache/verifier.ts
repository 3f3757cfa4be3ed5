// Verifies that a cached content is still as it was written: its bytes are digested and compared with the recipe's
// chunks and with runs that were written before there was a recipe [F53]. What is not is dropped: it is fetched again.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, Executor, Recipe, VersionId } from "@runnel/shared";
import { DIGEST_BYTES, chunkAt, digestAt, isRunnelError } from "@runnel/shared";
import type { CacheParts, ContentLifecycle } from "./content-lifecycle.ts";
import type { Content } from "./content.ts";
import { addRange, endOf, presentIn, removeRange, sumOf } from "./ranges.ts";

/** Bytes with a known digest. */
interface Unit extends ByteRange {
  digest: Uint8Array;
}

/** Units digested at a time. */
const BATCH_UNITS = 1024;

interface VerifierDeps extends CacheParts {
  lifecycle: ContentLifecycle;
  executor: Executor;
}

export class Verifier {
  readonly #deps: VerifierDeps;
  readonly #listeners: ((version: VersionId, bytes: number) => void)[] = [];

  constructor(deps: VerifierDeps) {
    this.#deps = deps;
  }

  /** Called when bytes were not what they should be. */
  onDamaged(report: (version: VersionId, bytes: number) => void): void {
    this.#listeners.push(report);
  }

  /** Resolves once nothing of the range is unverified. */
  async verify(content: Content, range: ByteRange): Promise<void> {
    while (content.verifying !== undefined) await content.verifying;
    if (content.isEvicted || presentIn(content.unverified, range).length === 0) return;
    const verifying = this.#deps.lifecycle.track(this.#settle(content, range)).finally(() => {
      content.verifying = undefined;
    });
    content.verifying = verifying.catch(() => {});
    await verifying;
  }

  /** Notes what the index knows the bytes by from here on [F140]: the chunks that they are, or all of them together. */
  async wasWrittenWithoutRecipe(
    content: Content,
    offset: number,
    bytes: Uint8Array,
    chunks: Recipe | undefined,
  ): Promise<void> {
    const known = chunks ?? {
      lengths: Uint32Array.of(bytes.length),
      digests: await this.#deps.executor.digest([bytes]),
    };
    this.#deps.db.atomic(() => {
      let at = offset;
      for (const [index, length] of known.lengths.entries()) {
        this.#deps.rows.putRun.run(content.id, at, length, digestAt(known, index));
        at += length;
      }
    });
  }

  /**
   * Bytes of the range were written that nothing verifies: chunks that they make whole are compared with the recipe
   * [F141].
   */
  async verifyCompleted(content: Content, range: ByteRange): Promise<void> {
    const completed = chunksIn(content, range).filter((chunk) => content.absent(chunk).length === 0);
    for (const chunk of completed) {
      removeRange(content.ranges, chunk);
      addRange(content.unverified, chunk);
    }
    for (const chunk of completed) await this.verify(content, chunk);
  }

  async #settle(content: Content, range: ByteRange): Promise<void> {
    const units = this.#unverifiedUnits(content, range);
    const right = await this.#rightUnits(content, units);
    if (content.isEvicted) return;
    const before = sumOf(content.unverified) + sumOf(content.ranges);
    for (const unit of right) {
      addRange(content.ranges, unit);
      removeRange(content.unverified, unit);
    }
    const wrongBytes = sumOf(units.flatMap((unit) => presentIn(content.unverified, unit)));
    for (const unit of units) removeRange(content.unverified, unit);
    removeRange(content.unverified, range);
    const dropped = before - sumOf(content.unverified) - sumOf(content.ranges);
    if (dropped > 0) this.#deps.contents.wasChanged(content, -dropped);
    if (wrongBytes === 0) return;
    for (const report of this.#listeners) report({ node: content.node, seq: content.seq }, wrongBytes);
  }

  /** Units that meet what is unverified of the range, and lie here whole. */
  #unverifiedUnits(content: Content, range: ByteRange): Unit[] {
    const unverified = presentIn(content.unverified, range);
    const meet = (unit: Unit): boolean => presentIn(unverified, unit).length > 0 && content.absent(unit).length === 0;
    const chunks = chunksIn(content, range).filter(meet);
    for (const chunk of chunks) removeRange(unverified, chunk);
    // Written before there was a recipe, of whose chunks only a part is here.
    if (unverified.length === 0) return chunks;
    const runs = this.#deps.rows.runsIn.all(content.id, endOf(range), range.offset);
    return [...chunks, ...runs.filter(meet)];
  }

  async #rightUnits(content: Content, units: readonly Unit[]): Promise<Unit[]> {
    if (units.length === 0) return [];
    let file: DiskFile;
    try {
      file = await this.#deps.files.open(content.id, "read");
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return [];
      throw error;
    }
    try {
      return await rightIn(units, file, this.#deps.executor);
    } finally {
      await file.close();
    }
  }
}

function chunksIn(content: Content, range: ByteRange): Unit[] {
  const { recipe } = content;
  if (recipe === undefined) return [];
  const offsets = content.offsets();
  const units: Unit[] = [];
  for (let index = chunkAt(recipe, range.offset); ; index++) {
    const [offset, length] = [offsets[index], recipe.lengths[index]];
    if (offset === undefined || length === undefined || offset >= endOf(range)) return units;
    units.push({ offset, length, digest: digestAt(recipe, index) });
  }
}

/** Units whose bytes have their digest. @throws RunnelError Io. */
async function rightIn(units: readonly Unit[], file: DiskFile, executor: Executor): Promise<Unit[]> {
  const right: Unit[] = [];
  for (let at = 0; at < units.length; at += BATCH_UNITS) {
    const batch = units.slice(at, at + BATCH_UNITS);
    const digests = await digestAll(file, executor, batch);
    for (const [place, unit] of batch.entries()) {
      const found = digests?.subarray(place * DIGEST_BYTES, (place + 1) * DIGEST_BYTES);
      if (found !== undefined && Buffer.compare(found, unit.digest) === 0) right.push(unit);
    }
  }
  return right;
}

/** undefined when the file is shorter than it should be. */
async function digestAll(
  file: DiskFile,
  executor: Executor,
  ranges: readonly ByteRange[],
): Promise<Uint8Array | undefined> {
  try {
    return await executor.digestFile(file, ranges);
  } catch (error) {
    if (isRunnelError(error, "Stale")) return undefined;
    throw error;
  }
}
