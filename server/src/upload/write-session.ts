// One write channel: LBFS's MKTMPFILE, CONDWRITE, TMPWRITE and COMMITTMP as items of a stream. Builds the new recipe and where its bytes come
// from; asks for what it lacks; verifies the whole by its OID. It outlives its channel, so that a cut link repeats at most the item in flight.
import type { Channel, ChunkPreset, Executor, Recipe, WriteItem } from "@runnel/shared";
import {
  EMPTY_RECIPE,
  LIMITS,
  RunnelError,
  TOOK_BYTES,
  TOOK_STEP,
  WRITE_ITEM,
  check,
  concatRecipes,
  encodeRecipe,
  recipeSize,
} from "@runnel/shared";
import type { ContentStore, ResumableFile } from "../content/content-store.ts";
import type { MetaStore, Run, WriteContent } from "../meta/meta-store.ts";
import { HeldVersions } from "./held-versions.ts";
import { NewData } from "./new-data.ts";
import type { Reference, Referred } from "./references.ts";
import { hasChunks, refer } from "./references.ts";
import type { Places } from "../host/semaphore.ts";
import type { ReceivedRun } from "./run-decoder.ts";
import { RepeatedRuns } from "./repeated-runs.ts";
import { RunDecoder } from "./run-decoder.ts";
import type { TakesUp } from "./session-notes.ts";
import { SessionNotes, takeUpItems } from "./session-notes.ts";
import type { Allowance } from "./resumable-uploads.ts";
import type { ItemNote, WriteOpening } from "./write-notes.ts";
import { joinRuns, toTemp } from "./write-runs.ts";

interface Part {
  /** EMPTY_RECIPE: new data that has not been cut yet, or a delta that did not decode. */
  recipe: Recipe;
  offset: number;
  sizeBytes: number;
  /** undefined: asked for with NEED, or not cut yet. */
  runs: Run[] | undefined;
  /** As it came; undefined: new data. */
  said: Reference | undefined;
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

/** What an item takes in memory, as so many descriptors. */
const ITEM_DESCRIPTORS = 8;
/** Of all writes. */
const repeated = new RepeatedRuns();

export class WriteSession implements TakesUp {
  readonly #meta: MetaStore;
  readonly #executor: Executor;
  /** Of the whole, as announced. */
  readonly sizeBytes: number;
  readonly preset: ChunkPreset;
  readonly #held: HeldVersions;
  readonly #decoder: RunDecoder;
  readonly #parts: Part[] = [];
  #offset = 0;
  #chunks = 0;
  readonly #data: NewData;
  readonly #notes: SessionNotes;
  /** New data being cut and stored while more comes, oldest first. */
  #working: Promise<void>[] = [];
  /** Its channel broke: versions were closed and may have changed since. */
  #hasRested = false;
  /** What stood in items since it was said that they were taken. */
  #untoldBytes = 0;

  constructor(
    parts: { meta: MetaStore; content: ContentStore; executor: Executor },
    opening: WriteOpening,
    allowance: Allowance,
  ) {
    this.#meta = parts.meta;
    this.#executor = parts.executor;
    this.#held = new HeldVersions(parts, allowance);
    this.#decoder = new RunDecoder(this.#held, parts.executor);
    this.sizeBytes = opening.sizeBytes;
    this.preset = opening.preset;
    this.#data = new NewData(parts.content, allowance, () => this.#moved());
    this.#notes = new SessionNotes(this.#data, opening, this.#parts);
  }

  /** Items received whole: where a repetition goes on. */
  get received(): number {
    return this.#parts.length;
  }

  /**
   * Takes items until the end item, their data in one of `places` at a time; `first` are those that came with the opening; then all is here and proved. The versions copied from stay open until `finished` or `discard`.
   * @throws Corrupt when the whole is not what its OID says.
   */
  async receive(channel: Channel, places: Places, first: readonly unknown[] = []): Promise<FinishedWrite> {
    if (this.#hasRested) await this.#wake();
    for (let at = 0; ; at++) {
      const message = at < first.length ? first[at] : await channel.next();
      if (message === undefined) throw wrong("A write ended without its end item.");
      const item = check(WRITE_ITEM, message, "write item");
      if (item[0] !== "d") await this.#worked(0);
      if (item[0] === "e") {
        const missing = this.#parts.flatMap((part, index) => (part.runs === undefined ? [index] : []));
        if (missing.length === 0) return this.#finish(item[1]);
        this.#recount();
        channel.send(["need", missing.slice(0, LIMITS.neededItems)]);
      } else {
        await this.#take(item, channel, places);
        this.#sayTaken(item, channel);
      }
    }
  }

  #sayTaken(item: WriteItem, channel: Channel): void {
    if (item[0] === "r") return;
    this.#untoldBytes += bytesIn(item);
    if (this.#untoldBytes < TOOK_BYTES && this.#parts.length % TOOK_STEP !== 0) return;
    this.#untoldBytes = 0;
    channel.send(["took", this.#parts.length]);
  }

  /** Descriptors that it holds in memory. */
  get descriptors(): number {
    return this.#chunks;
  }

  /** The channel broke: nothing but what was received is kept, on the disk. @throws NoSpace. */
  async rest(): Promise<void> {
    this.#hasRested = true;
    await Promise.allSettled(this.#working.splice(0));
    this.#forgetFrom(this.#parts.findIndex((part) => part.recipe === EMPTY_RECIPE));
    await this.#held.close();
    await this.#data.rest();
    await this.#notes.write();
  }

  /** Data that could not be cut or stored comes again, with all behind it. */
  #forgetFrom(index: number): void {
    const first = this.#parts[index];
    if (first === undefined) return;
    this.#parts.length = index;
    this.#offset = first.offset;
    this.#recount();
  }

  /** The commit has been accepted: what was staged is the content store's. */
  async finished(): Promise<void> {
    await this.#held.close();
    await this.#data.handOver();
  }

  /** The server ends: at rest, it is there for the next life. */
  async leave(): Promise<void> {
    await this.rest();
    await this.#data.leave();
  }

  /** Of an earlier life, as far as it is there still; at rest then. @throws what opening its file throws. */
  async takeUp(left: ResumableFile): Promise<void> {
    const file = await left.open(this.sizeBytes);
    this.#data.takeUp(file);
    await takeUpItems(this, left, file, this.#executor);
    this.#notes.goOn();
    await this.rest();
  }

  async takeUpItem(item: ItemNote, isStaged: (offset: number, recipe: Recipe) => Promise<boolean>): Promise<boolean> {
    if (item[0] === "c" || item[0] === "h") this.#add(await this.#refer(item));
    else if (item[0] === "d") {
      const [, recipe] = item;
      if (!(await isStaged(this.#offset, recipe))) return false;
      this.#checkChunks(recipe.lengths.length);
      const sizeBytes = recipeSize(recipe);
      this.#data.count(sizeBytes);
      this.#add({ recipe, sizeBytes, runs: [{ from: "temp", length: sizeBytes }], said: undefined });
    } else {
      const part = this.#parts[item[1]];
      if (part === undefined || !(await isStaged(part.offset, part.recipe))) return false;
      this.#data.count(part.sizeBytes);
      part.runs = [{ from: "temp", length: part.sizeBytes }];
    }
    return true;
  }

  async discard(): Promise<void> {
    await Promise.allSettled(this.#working.splice(0));
    await this.#held.close();
    await this.#data.discard();
  }

  /** What has changed meanwhile is asked for. */
  async #wake(): Promise<void> {
    this.#hasRested = false;
    this.#recount();
    for (const part of this.#parts) {
      const isCopy = part.runs?.some((run) => run.from === "version") === true;
      if (isCopy && !(await this.#held.stillHave(part.runs ?? [], part.recipe))) part.runs = undefined;
    }
  }

  async #take(item: Exclude<WriteItem, ["e", Uint8Array]>, channel: Channel, places: Places): Promise<void> {
    if (item[0] === "c" || item[0] === "h") this.#add(await this.#refer(item));
    else if (item[0] === "d") {
      const [, encoding, rawBytes] = item;
      const run = await this.#decoder.receive(encoding, rawBytes, item[3], channel, places);
      const work = this.#takeRun(run).finally(() => run.done());
      work.catch(() => undefined);
      this.#working.push(work);
      await this.#worked(WORKING_MAX);
    } else {
      const [, index, encoding, rawBytes] = item;
      const run = await this.#decoder.receive(encoding, rawBytes, item[4], channel, places);
      try {
        await this.#fill(index, await this.#decoder.decode(run));
      } finally {
        run.done();
      }
    }
    await this.#notes.write();
  }

  /** Waits until at most so many runs are being worked on. @throws what one of them failed with. */
  async #worked(left: number): Promise<void> {
    while (this.#working.length > left) {
      await this.#working[0];
      this.#working.shift();
    }
  }

  async #takeRun(run: ReceivedRun): Promise<void> {
    const { encoding, rawBytes, encoded } = run;
    const part = this.#add({ recipe: EMPTY_RECIPE, sizeBytes: rawBytes, runs: undefined, said: undefined });
    const before = repeated.find(encoding, encoded, rawBytes, this.preset);
    const bytes = before?.bytes ?? (await this.#decoder.decode(run));
    // Asked for with NEED.
    if (bytes === undefined) return;
    const storing = this.#data.store(part.offset, bytes, (stored) => (part.runs = [stored]));
    const cutting = before?.recipe ?? this.#executor.chunkBytes(bytes, this.preset);
    const [cut, stored] = await Promise.allSettled([cutting, storing]);
    if (cut.status === "fulfilled") repeated.keep(encoding, encoded, this.preset, { bytes, recipe: cut.value });
    if (cut.status === "rejected") throw cut.reason;
    if (stored.status === "rejected") throw stored.reason;
    this.#count(cut.value.lengths.length);
    part.recipe = cut.value;
    await this.#notes.write();
  }

  #add(added: Omit<Part, "offset">): Part {
    if (this.#offset + added.sizeBytes > this.sizeBytes) throw wrong("A write has more bytes than it announced.");
    const part = { ...added, offset: this.#offset };
    this.#parts.push(part);
    this.#offset += part.sizeBytes;
    this.#count(part.recipe.lengths.length);
    return part;
  }

  /** Counted before anything is copied: a few bytes of items could ask for any memory. */
  #checkChunks(more: number): void {
    if (this.#chunks + more <= LIMITS.recipeDescriptors) return;
    throw new RunnelError("TooLarge", "write", "A write has too many chunks.", {
      detail: { limit: LIMITS.recipeDescriptors, rule: "W20" },
    });
  }

  #count(chunks: number): void {
    this.#checkChunks(chunks);
    this.#chunks += chunks;
    this.#describe();
  }

  /** What came for an item in part comes again, from the beginning of the item. */
  #recount(): void {
    for (const part of this.#parts) delete part.filled;
    this.#chunks = this.#parts.reduce((sum, part) => sum + part.recipe.lengths.length, 0);
    this.#describe();
  }

  #describe(): void {
    this.#data.describe(this.#chunks + ITEM_DESCRIPTORS * this.#parts.length);
  }

  async #refer(item: Reference): Promise<Referred> {
    if (item[0] === "c") this.#checkChunks(item[3]);
    const referred = await refer(item, this.#held, this.#meta);
    this.#checkChunks(referred.recipe.lengths.length);
    return referred;
  }

  /** New data for an item that was asked for, in one run or several one after another. Descriptors that were said stand: it must be these bytes. */
  async #fill(index: number, bytes: Uint8Array | undefined): Promise<void> {
    const part = this.#parts[index];
    if (bytes === undefined || part === undefined || part.runs !== undefined)
      throw wrong("Data came for an item that was not asked for.");
    part.filled ??= { runs: [], recipes: [], chunks: 0, bytes: 0 };
    const { filled } = part;
    if (filled.bytes + bytes.length > part.sizeBytes) throw wrong("An item has more bytes than it announced.");
    const recipe = await this.#executor.chunkBytes(bytes, this.preset);
    const wasSaid = part.recipe !== EMPTY_RECIPE;
    if (wasSaid && !hasChunks(part.recipe, filled.chunks, recipe))
      throw new RunnelError("Corrupt", "write", "Data for an item is not what its descriptors say.");
    if (!wasSaid) this.#count(recipe.lengths.length);
    // Storing may move what came before to the temp file, and then puts other runs in place of these.
    await this.#data.store(part.offset + filled.bytes, bytes, (run) => filled.runs.push(run));
    if (!wasSaid) filled.recipes.push(recipe);
    filled.chunks += recipe.lengths.length;
    filled.bytes += bytes.length;
    if (filled.bytes < part.sizeBytes) return;
    if (!wasSaid) part.recipe = concatRecipes(filled.recipes);
    part.runs = filled.runs;
    this.#notes.fill(index);
  }

  /** What was for the log record is in a staged file now. */
  #moved(): void {
    for (const part of this.#parts) {
      part.runs = part.runs?.map(toTemp);
      if (part.filled !== undefined) part.filled.runs = part.filled.runs.map(toTemp);
    }
  }

  async #finish(oid: Uint8Array): Promise<FinishedWrite> {
    if (this.#offset !== this.sizeBytes) throw wrong("A write has fewer bytes than it announced.");
    const recipe = concatRecipes(this.#parts.map((part) => part.recipe));
    const proved = await this.#executor.digest([encodeRecipe(recipe)]);
    if (Buffer.compare(proved, oid) !== 0)
      throw new RunnelError("Corrupt", "write", "What came is not what was sent: its OID differs.");
    const { data, temp } = await this.#data.finish(this.sizeBytes);
    const runs = joinRuns(this.#parts.flatMap((part) => part.runs ?? []));
    // As long as the file: one copy is enough from here on.
    this.#parts.length = 0;
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
function wrong(message: string): RunnelError {
  return new RunnelError("Invalid", "write", message, { detail: { rule: "W20" } });
}

/** What stands in the item itself. */
function bytesIn(item: WriteItem): number {
  return item.reduce((sum: number, part) => sum + (part instanceof Uint8Array ? part.length : 0), 0);
}
