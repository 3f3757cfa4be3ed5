// One write channel: LBFS's MKTMPFILE, CONDWRITE, TMPWRITE and COMMITTMP as items of a stream. Builds the new recipe and where its bytes come
// from; asks for what it lacks; verifies the whole by its OID. It outlives its channel, so that a cut link repeats at most the item in flight.
import type { Channel, ChunkPreset, Executor, Recipe, RunEncoding, VersionId, WriteItem } from "@runnel/shared";
import {
  DIGEST_BYTES,
  EMPTY_RECIPE,
  LIMITS,
  RunnelError,
  WRITE_ITEM,
  check,
  concatRecipes,
  decodeRecipe,
  digestAt,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import type { ContentStore } from "../content/content-store.ts";
import type { MetaStore, Run, WriteContent } from "../meta/meta-store.ts";
import { HeldVersions } from "./held-versions.ts";
import { LastRun } from "./last-run.ts";
import { NewData } from "./new-data.ts";
import { RunDecoder } from "./run-decoder.ts";
import type { Allowance } from "./staged-writes.ts";
import { joinRuns, toTemp } from "./write-runs.ts";

interface Part {
  /** EMPTY_RECIPE: new data that has not been cut yet, or a delta that did not decode. */
  recipe: Recipe;
  offset: number;
  sizeBytes: number;
  /** undefined: asked for with NEED, or not cut yet. */
  runs: Run[] | undefined;
  /** What has come for it since, in runs of at most LIMITS.runBytes. */
  filled?: { runs: Run[]; recipes: Recipe[]; chunks: number; bytes: number };
}

export interface FinishedWrite {
  content: WriteContent;
  /** Of the whole. */
  oid: Uint8Array;
  /** Goes into the log record. */
  data: Uint8Array;
  /** On the disk already, of the content's bytes. */
  stagedBytes: number;
}

export class WriteSession {
  private readonly meta: MetaStore;
  private readonly executor: Executor;
  /** Of the whole, as announced. */
  readonly sizeBytes: number;
  readonly preset: ChunkPreset;
  private readonly held: HeldVersions;
  private readonly decoder: RunDecoder;
  private readonly lastRun = new LastRun();
  private readonly parts: Part[] = [];
  private offset = 0;
  private chunks = 0;
  private readonly data: NewData;
  /** New data being cut and stored while more comes, oldest first. */
  private working: Promise<void>[] = [];
  /** Its channel broke: versions were closed and may have changed since. */
  private hasRested = false;

  constructor(
    parts: { meta: MetaStore; content: ContentStore; executor: Executor },
    { sizeBytes, preset = 0 }: { sizeBytes: number; preset?: ChunkPreset | undefined },
    allowance: Allowance,
  ) {
    this.meta = parts.meta;
    this.executor = parts.executor;
    this.held = new HeldVersions(parts);
    this.decoder = new RunDecoder(this.held, parts.executor);
    this.sizeBytes = sizeBytes;
    this.preset = preset;
    this.data = new NewData(parts.content, allowance, () => this.moved());
  }

  /** Items received whole: where a repetition goes on. */
  get received(): number {
    return this.parts.length;
  }

  /**
   * Takes items until the end item, `first` those that came with the opening; then all is here and proved. The versions copied from stay open until `finished` or `discard`.
   * @throws Corrupt when the whole is not what its OID says.
   */
  async receive(channel: Channel, first: readonly unknown[] = []): Promise<FinishedWrite> {
    if (this.hasRested) await this.wake();
    for (let at = 0; ; at++) {
      const message = at < first.length ? first[at] : await channel.next();
      if (message === undefined) throw wrong("A write ended without its end item.");
      const item = check(WRITE_ITEM, message, "write item");
      if (item[0] !== "d") await this.worked(0);
      if (item[0] === "e") {
        const missing = this.parts.flatMap((part, index) => (part.runs === undefined ? [index] : []));
        if (missing.length === 0) return this.finish(item[1]);
        // Data for an item comes from its beginning, whatever has come before.
        for (const part of this.parts) delete part.filled;
        channel.send(["need", missing.slice(0, LIMITS.neededItems)]);
      } else {
        await this.take(item, channel);
      }
    }
  }

  /** The channel broke: nothing but what was received is kept. */
  async rest(): Promise<void> {
    this.hasRested = true;
    await Promise.allSettled(this.working.splice(0));
    this.forgetFrom(this.parts.findIndex((part) => part.recipe === EMPTY_RECIPE));
    await this.held.close();
  }

  /** Data that could not be cut or stored comes again, with all behind it. */
  private forgetFrom(index: number): void {
    const first = this.parts[index];
    if (first === undefined) return;
    this.parts.length = index;
    this.offset = first.offset;
    this.chunks = this.parts.reduce((sum, part) => sum + part.recipe.lengths.length, 0);
  }

  /** The commit has been accepted: what was staged is the content store's. */
  async finished(): Promise<void> {
    this.data.handOver();
    await this.held.close();
  }

  async discard(): Promise<void> {
    await Promise.allSettled(this.working.splice(0));
    await this.held.close();
    await this.data.discard();
  }

  /** What has changed meanwhile is asked for. */
  private async wake(): Promise<void> {
    this.hasRested = false;
    for (const part of this.parts) {
      delete part.filled;
      const isCopy = part.runs?.some((run) => run.from === "version") === true;
      if (isCopy && !(await this.held.stillHave(part.runs ?? [], part.recipe))) part.runs = undefined;
    }
  }

  private async take(item: Exclude<WriteItem, ["e", Uint8Array]>, channel: Channel): Promise<void> {
    if (item[0] === "c") this.add(await this.copy(item[1], item[2], item[3]));
    else if (item[0] === "h") this.add(await this.known(item[1], item[2], item[3]));
    else if (item[0] === "d") {
      const [, encoding, rawBytes] = item;
      const encoded = await this.decoder.receive(encoding, rawBytes, item[3], channel);
      const part = this.add({ recipe: EMPTY_RECIPE, sizeBytes: rawBytes, runs: undefined });
      const work = this.takeRun(part, encoding, encoded);
      work.catch(() => undefined);
      this.working.push(work);
      await this.worked(WORKING_MAX);
    } else {
      const [, index, encoding, rawBytes] = item;
      const encoded = await this.decoder.receive(encoding, rawBytes, item[4], channel);
      await this.fill(index, await this.decoder.decode(encoding, rawBytes, encoded));
    }
  }

  /** Waits until at most so many runs are being worked on. @throws what one of them failed with. */
  private async worked(left: number): Promise<void> {
    while (this.working.length > left) {
      await this.working[0];
      this.working.shift();
    }
  }

  private async takeRun(part: Part, encoding: RunEncoding, encoded: Uint8Array): Promise<void> {
    const before = this.lastRun.find(encoding, encoded, part.sizeBytes);
    const bytes = before?.bytes ?? (await this.decoder.decode(encoding, part.sizeBytes, encoded));
    // Asked for with NEED.
    if (bytes === undefined) return;
    const storing = this.data.store(part.offset, bytes, (run) => (part.runs = [run]));
    const cutting = before?.recipe ?? this.executor.chunkBytes(bytes, this.preset);
    const [cut, stored] = await Promise.allSettled([cutting, storing]);
    if (cut.status === "fulfilled") this.lastRun.keep(encoding, encoded, { bytes, recipe: cut.value });
    this.decoder.memory.giveBack(encoded);
    if (cut.status === "rejected") throw cut.reason;
    if (stored.status === "rejected") throw stored.reason;
    this.count(cut.value.lengths.length);
    part.recipe = cut.value;
  }

  private add(added: Omit<Part, "offset">): Part {
    if (this.offset + added.sizeBytes > this.sizeBytes) throw wrong("A write has more bytes than it announced.");
    const part = { ...added, offset: this.offset };
    this.parts.push(part);
    this.offset += part.sizeBytes;
    this.chunks += part.recipe.lengths.length;
    return part;
  }

  /** Counted before anything is copied: a few bytes of items could ask for any memory. */
  private checkChunks(more: number): void {
    if (this.chunks + more <= LIMITS.recipeDescriptors) return;
    throw new RunnelError("TooLarge", "write", "A write has too many chunks.", {
      detail: { limit: LIMITS.recipeDescriptors, rule: "W20" },
    });
  }

  private count(chunks: number): void {
    this.checkChunks(chunks);
    this.chunks += chunks;
  }

  /** CONDWRITE by place: chunks of a version, whose recipe the client knows. */
  private async copy(version: VersionId, from: number, count: number): Promise<Omit<Part, "offset">> {
    const held = await this.held.get(version);
    if (held === undefined) {
      // The length is unknown without the recipe: the client repeats the whole as data.
      throw new RunnelError("Gone", "copy chunks", "A version that a write copies from is no longer kept.", {
        detail: { rule: "W22" },
      });
    }
    if (from + count > held.recipe.lengths.length || count === 0)
      throw wrong("A copy names chunks that the version does not have.");
    this.checkChunks(count);
    const recipe = sliceRecipe(held.recipe, from, from + count);
    const run = await this.held.run(version, held, from, count);
    return { recipe, sizeBytes: recipeSize(recipe), runs: run && [run] };
  }

  /** CONDWRITE by digest, with a place that a version known to the client has; else the chunk index is asked. */
  private async known(descriptors: Uint8Array, place: VersionId | null, index: number): Promise<Omit<Part, "offset">> {
    const recipe = decodeRecipe(descriptors);
    const count = recipe.lengths.length;
    if (count === 0 || count > LIMITS.recipeDescriptorsPerItem) throw wrong("An item has no or too many descriptors.");
    this.checkChunks(count);
    const sizeBytes = recipeSize(recipe);
    if (place !== null) {
      const held = await this.held.get(place);
      const run =
        held !== undefined && isSame(held.recipe, index, recipe)
          ? await this.held.run(place, held, index, count)
          : undefined;
      if (run !== undefined) return { recipe, sizeBytes, runs: [run] };
    }
    return { recipe, sizeBytes, runs: await this.lookUp(recipe) };
  }

  /** Every chunk somewhere in the volume, proved; undefined when one is missing. */
  private async lookUp(recipe: Recipe): Promise<Run[] | undefined> {
    const hints = await this.meta.findChunks(recipe.digests);
    const runs: Run[] = [];
    for (const [index, hint] of hints.entries()) {
      const run =
        hint !== undefined && hint.length === recipe.lengths[index]
          ? await this.held.chunk(hint, digestAt(recipe, index))
          : undefined;
      if (run === undefined) return undefined;
      runs.push(run);
    }
    return runs;
  }

  /** New data for an item that was asked for, in one run or several one after another. Descriptors that were said stand: it must be these bytes. */
  private async fill(index: number, bytes: Uint8Array | undefined): Promise<void> {
    const part = this.parts[index];
    if (bytes === undefined || part === undefined || part.runs !== undefined)
      throw wrong("Data came for an item that was not asked for.");
    part.filled ??= { runs: [], recipes: [], chunks: 0, bytes: 0 };
    const { filled } = part;
    if (filled.bytes + bytes.length > part.sizeBytes) throw wrong("An item has more bytes than it announced.");
    const recipe = await this.executor.chunkBytes(bytes, this.preset);
    const wasSaid = part.recipe !== EMPTY_RECIPE;
    if (wasSaid && !isSame(part.recipe, filled.chunks, recipe))
      throw new RunnelError("Corrupt", "write", "Data for an item is not what its descriptors say.");
    if (!wasSaid) this.count(recipe.lengths.length);
    // Storing may move what came before to the temp file, and then puts other runs in place of these.
    await this.data.store(part.offset + filled.bytes, bytes, (run) => filled.runs.push(run));
    if (!wasSaid) filled.recipes.push(recipe);
    filled.chunks += recipe.lengths.length;
    filled.bytes += bytes.length;
    if (filled.bytes < part.sizeBytes) return;
    if (!wasSaid) part.recipe = concatRecipes(filled.recipes);
    part.runs = filled.runs;
  }

  /** What was for the log record is in a staged file now. */
  private moved(): void {
    for (const part of this.parts) {
      part.runs = part.runs?.map(toTemp);
      if (part.filled !== undefined) part.filled.runs = part.filled.runs.map(toTemp);
    }
  }

  private async finish(oid: Uint8Array): Promise<FinishedWrite> {
    if (this.offset !== this.sizeBytes) throw wrong("A write has fewer bytes than it announced.");
    const recipe = concatRecipes(this.parts.map((part) => part.recipe));
    const proved = await this.executor.digest([encodeRecipe(recipe)]);
    if (Buffer.compare(proved, oid) !== 0)
      throw new RunnelError("Corrupt", "write", "What came is not what was sent: its OID differs.");
    const { data, temp } = await this.data.finish(this.sizeBytes);
    const runs = joinRuns(this.parts.flatMap((part) => part.runs ?? []));
    // As long as the file: one copy is enough from here on.
    this.parts.length = 0;
    let stagedBytes = 0;
    for (const run of runs) if (run.from === "temp") stagedBytes += run.length;
    return {
      content: { recipe, sizeBytes: this.sizeBytes, runs, temp },
      oid,
      data,
      stagedBytes,
    };
  }
}

/** Runs being cut and stored while the next is received: a run each. */
const WORKING_MAX = 2;
function isSame(recipe: Recipe, from: number, expected: Recipe): boolean {
  const count = expected.lengths.length;
  if (from + count > recipe.lengths.length) return false;
  for (let index = 0; index < count; index++)
    if (recipe.lengths[from + index] !== expected.lengths[index]) return false;
  const digests = recipe.digests.subarray(from * DIGEST_BYTES, (from + count) * DIGEST_BYTES);
  return Buffer.compare(digests, expected.digests) === 0;
}

function wrong(message: string): RunnelError {
  return new RunnelError("Invalid", "write", message, { detail: { rule: "W20" } });
}
