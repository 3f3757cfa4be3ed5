// Write session, for one write channel: LBFS's MKTMPFILE, CONDWRITE, TMPWRITE and COMMITTMP as items of a stream.
// Builds the new recipe and where its bytes come from; asks for what it lacks; verifies the whole by its OID. It
// outlives its channel, so that a cut link repeats at most the item in flight.
import type { Channel, ChunkPreset, Executor, Recipe, WriteItem } from "@runnel/shared";
import {
  EMPTY_RECIPE,
  LIMITS,
  RunnelError,
  ACCEPTED_BYTES,
  ACCEPTED_STEP,
  WRITE_ITEM,
  check,
  concatRecipes,
  encodeRecipe,
  recipeSize,
  sliceRecipe,
} from "@runnel/shared";
import type { ContentStore, ResumableFile } from "../content/content-store.ts";
import type { MetaStore, Run, WriteContent } from "../meta/meta-store.ts";
import { noProgress } from "../live/attachment-transfers.ts";
import { HeldVersions } from "./held-versions.ts";
import { NewData } from "./new-data.ts";
import type { KeptReference, Reference, ResolvedReference } from "./references.ts";
import { resolveReference } from "./references.ts";
import type { Semaphore } from "../host/semaphore.ts";
import type { ReceivedRun } from "./run-decoder.ts";
import type { OldFolders } from "./old-folders.ts";
import { RepeatedRuns } from "./repeated-runs.ts";
import { RunDecoder } from "./run-decoder.ts";
import type { ResumesItems } from "./session-notes.ts";
import { SessionNotes, resumeItems } from "./session-notes.ts";
import type { Allowance } from "./allowances.ts";
import type { ItemNote, WriteOpening } from "./write-notes.ts";
import { joinRuns, toTemp } from "./write-runs.ts";

interface Item {
  /** EMPTY_RECIPE stands for new data that have not been cut yet, or a delta that did not decode. */
  recipe: Recipe;
  offset: number;
  sizeBytes: number;
  /** Undefined for an item that is asked for with NEED, or not cut yet. */
  runs: Run[] | undefined;
  /** Reference that it was received as; undefined for new data. */
  reference: KeptReference | undefined;
  /** Data received for it since, in runs of at most LIMITS.runBytes. */
  filled?: { runs: Run[]; recipes: Recipe[]; chunks: number; bytes: number };
}

export interface FinishedWrite {
  content: WriteContent;
  /** OID of the whole. */
  oid: Uint8Array;
  /** Data that go into the log record. */
  data: Uint8Array;
  /** Bytes of the content that are on the disk already. */
  stagedBytes: number;
}

/** Memory that an item takes, as so many descriptors; and each further place where its bytes are. */
const ITEM_DESCRIPTORS = 8;
const PLACE_DESCRIPTORS = 3;
/** Runs that all writes share. */
const repeated = new RepeatedRuns();

export class WriteSession implements ResumesItems {
  readonly #meta: MetaStore;
  readonly #executor: Executor;
  readonly #oldFolders: Pick<OldFolders, "read"> | undefined;
  /** Size of the whole, as announced. */
  readonly sizeBytes: number;
  readonly preset: ChunkPreset;
  /** Numbers for whoever looks at it; nothing here depends on them. */
  readonly progress = noProgress();
  readonly #held: HeldVersions;
  readonly #decoder: RunDecoder;
  readonly #items: Item[] = [];
  #offset = 0;
  #chunks = 0;
  /** Places of items beyond one each. */
  #places = 0;
  readonly #data: NewData;
  readonly #notes: SessionNotes;
  /** New data that are being cut and stored while more is received, the oldest first. */
  #working: Promise<void>[] = [];
  /** True after its channel broke: versions were closed and may have changed since. */
  #isSuspended = false;
  /** Bytes inside items since they were last reported as accepted. */
  #unreportedBytes = 0;

  constructor(
    deps: {
      meta: MetaStore;
      content: ContentStore;
      executor: Executor;
      oldFolders?: Pick<OldFolders, "read"> | undefined;
    },
    opening: WriteOpening,
    allowance: Allowance,
  ) {
    this.#meta = deps.meta;
    this.#executor = deps.executor;
    this.#oldFolders = deps.oldFolders;
    this.#held = new HeldVersions(deps, allowance);
    this.#decoder = new RunDecoder(this.#held, deps.executor);
    this.sizeBytes = opening.sizeBytes;
    this.preset = opening.preset;
    this.#data = new NewData(deps.content, allowance, () => this.#toStaged());
    this.#notes = new SessionNotes(this.#data, opening, this.#items);
  }

  /** Number of items received whole: a repetition continues behind them. */
  get received(): number {
    return this.#items.length;
  }

  /**
   * Receives items until the end item, their data as `slots` let them enter; `first` are those that came with the
   * opening. When it resolves, all is here and verified. The versions copied from stay open until `handOver` or
   * `discard`.
   * @throws Corrupt when the whole is not what its OID says.
   */
  async receive(channel: Channel, slots: Semaphore, first: readonly unknown[] = []): Promise<FinishedWrite> {
    if (this.#isSuspended) await this.#continue();
    for (let at = 0; ; at++) {
      const message = at < first.length ? first[at] : await channel.next();
      if (message === undefined) throw wrong("A write ended without its end item.");
      const item = check(WRITE_ITEM, message, "write item");
      if (item[0] !== "d") await this.#worked(0);
      if (item[0] === "e") {
        const missing = this.#items.flatMap((part, index) => (part.runs === undefined ? [index] : []));
        if (missing.length === 0) return this.#finish(item[1]);
        this.#recount();
        channel.send(["need", missing.slice(0, LIMITS.neededItems)]);
      } else {
        await this.#take(item, channel, slots);
        this.#reportAccepted(item, channel);
      }
    }
  }

  #reportAccepted(item: WriteItem, channel: Channel): void {
    if (item[0] === "r") return;
    this.#unreportedBytes += bytesIn(item);
    if (this.#unreportedBytes < ACCEPTED_BYTES && this.#items.length % ACCEPTED_STEP !== 0) return;
    this.#unreportedBytes = 0;
    channel.send(["accepted", this.#items.length]);
  }

  /** Number of descriptors that it holds in memory. */
  get descriptors(): number {
    return this.#chunks;
  }

  /** Keeps what was received, on the disk, and closes all else: the channel broke. @throws NoSpace. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    await Promise.allSettled(this.#working.splice(0));
    this.#forgetFrom(this.#items.findIndex((part) => part.recipe === EMPTY_RECIPE));
    await this.#held.close();
    await this.#data.suspend();
    await this.#notes.write();
  }

  /** Forgets an item whose data could not be cut or stored, and all behind it: they are sent again. */
  #forgetFrom(index: number): void {
    const first = this.#items[index];
    if (first === undefined) return;
    this.#items.length = index;
    this.#offset = first.offset;
    this.#recount();
  }

  /** Leaves what was staged to the content store: the commit has been accepted. */
  async handOver(): Promise<void> {
    await this.#held.close();
    await this.#data.handOver();
  }

  /** Leaves the suspended write to the next process: the server ends. */
  async detach(): Promise<void> {
    await this.suspend();
    await this.#data.detach();
  }

  /**
   * Resumes what an earlier process detached, as far as it is still there; it is suspended then. @throws what opening
   * its file throws.
   */
  async resume(detached: ResumableFile): Promise<void> {
    const file = await detached.open(this.sizeBytes);
    this.#data.resume(file);
    await resumeItems(this, detached, file, this.#executor);
    this.#notes.continue();
    await this.suspend();
  }

  async resumeItem(item: ItemNote, isStaged: (offset: number, recipe: Recipe) => Promise<boolean>): Promise<boolean> {
    if (item[0] === "c" || item[0] === "h") this.#add(await this.#refer(item));
    else if (item[0] === "d") {
      const [, recipe] = item;
      if (!(await isStaged(this.#offset, recipe))) return false;
      this.#checkChunks(recipe.lengths.length);
      const sizeBytes = recipeSize(recipe);
      this.#data.count(sizeBytes);
      this.#add({ recipe, sizeBytes, runs: [{ from: "temp", length: sizeBytes }], reference: undefined });
    } else {
      const part = this.#items[item[1]];
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

  /** Continues after a suspension: copies that have changed meanwhile will be asked for. */
  async #continue(): Promise<void> {
    this.#isSuspended = false;
    this.#recount();
    for (const part of this.#items) {
      const isCopy = part.runs?.some((run) => run.from === "version") === true;
      if (isCopy && !(await this.#held.stillHave(part.runs ?? [], part.recipe))) part.runs = undefined;
    }
  }

  async #take(item: Exclude<WriteItem, ["e", Uint8Array]>, channel: Channel, slots: Semaphore): Promise<void> {
    if (item[0] === "c") this.#add(await this.#refer(item));
    else if (item[0] === "h") await this.#takeFromSupply(this.#add(await this.#refer(item)));
    else if (item[0] === "d") {
      const [, encoding, rawBytes] = item;
      const run = await this.#decoder.receive(encoding, rawBytes, item[3], channel, slots);
      this.#moved(run);
      const work = this.#takeRun(run).finally(() => run.done());
      work.catch(() => undefined);
      this.#working.push(work);
      await this.#worked(WORKING_MAX);
    } else {
      const [, index, encoding, rawBytes] = item;
      const run = await this.#decoder.receive(encoding, rawBytes, item[4], channel, slots);
      this.#moved(run);
      try {
        await this.#fill(index, await this.#decoder.decode(run));
      } finally {
        run.done();
      }
    }
    await this.#notes.write();
  }

  /** Fills an item whose chunks the volume lacks, but a folder beside it has: as if the client had sent them [W210]. */
  async #takeFromSupply(part: Item): Promise<void> {
    const index = this.#items.length - 1;
    const bytes = part.runs === undefined ? await this.#oldFolders?.read(part.recipe) : undefined;
    if (bytes === undefined) return;
    const { lengths } = part.recipe;
    for (let [chunk, at] = [0, 0]; chunk < lengths.length;) {
      let length = 0;
      do length += lengths[chunk++] ?? 0;
      while (chunk < lengths.length && length + (lengths[chunk] ?? 0) <= LIMITS.runBytes);
      await this.#fill(index, bytes.subarray(at, at + length));
      at += length;
    }
  }

  #moved({ rawBytes, encoded }: ReceivedRun): void {
    this.progress.movedBytes += rawBytes;
    this.progress.wireBytes += encoded.length;
  }

  /** Waits until at most so many runs are being worked on. @throws the error of one that failed. */
  async #worked(left: number): Promise<void> {
    while (this.#working.length > left) {
      await this.#working[0];
      this.#working.shift();
    }
  }

  async #takeRun(run: ReceivedRun): Promise<void> {
    const { encoding, rawBytes, encoded } = run;
    const part = this.#add({ recipe: EMPTY_RECIPE, sizeBytes: rawBytes, runs: undefined, reference: undefined });
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

  #add(added: Omit<Item, "offset">): Item {
    if (this.#offset + added.sizeBytes > this.sizeBytes) throw wrong("A write has more bytes than it announced.");
    const part = { ...added, offset: this.#offset };
    this.#items.push(part);
    this.#offset += part.sizeBytes;
    this.progress.doneBytes = this.#offset;
    this.#places += furtherPlaces(part);
    this.#count(part.recipe.lengths.length);
    return part;
  }

  /** Checks the count before anything is copied: a few bytes of items could ask for any memory. */
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

  /** Forgets data that were received for a part of an item: they are sent again, from the beginning of the item. */
  #recount(): void {
    for (const part of this.#items) delete part.filled;
    this.#chunks = this.#items.reduce((sum, part) => sum + part.recipe.lengths.length, 0);
    this.#places = this.#items.reduce((sum, part) => sum + furtherPlaces(part), 0);
    this.#describe();
  }

  #describe(): void {
    const more = ITEM_DESCRIPTORS * this.#items.length + PLACE_DESCRIPTORS * this.#places;
    this.#data.holdDescriptors(this.#chunks + more);
  }

  async #refer(item: Reference): Promise<ResolvedReference> {
    if (item[0] === "c") this.#checkChunks(item[3]);
    const referred = await resolveReference(item, this.#held, this.#meta);
    this.#checkChunks(referred.recipe.lengths.length);
    return referred;
  }

  /**
   * Fills an item that was asked for with new data, in one run or several one after another. Where it came with
   * descriptors, it must be these bytes.
   */
  async #fill(index: number, bytes: Uint8Array | undefined): Promise<void> {
    const part = this.#items[index];
    if (bytes === undefined || part === undefined || part.runs !== undefined)
      throw wrong("Data came for an item that was not asked for.");
    part.filled ??= { runs: [], recipes: [], chunks: 0, bytes: 0 };
    const { filled } = part;
    if (filled.bytes + bytes.length > part.sizeBytes) throw wrong("An item has more bytes than it announced.");
    const hasDescriptors = part.recipe !== EMPTY_RECIPE;
    const recipe = hasDescriptors
      ? await this.#described(part.recipe, filled.chunks, bytes)
      : await this.#executor.chunkBytes(bytes, this.preset);
    if (!hasDescriptors) this.#count(recipe.lengths.length);
    // Storing may move what came before to the temp file, and then puts other runs in place of these.
    await this.#data.store(part.offset + filled.bytes, bytes, (run) => filled.runs.push(run));
    if (!hasDescriptors) filled.recipes.push(recipe);
    filled.chunks += recipe.lengths.length;
    filled.bytes += bytes.length;
    if (filled.bytes < part.sizeBytes) return;
    if (!hasDescriptors) part.recipe = concatRecipes(filled.recipes);
    part.runs = filled.runs;
    this.#notes.fill(index);
  }

  /** Has the chunks from `from` on that these bytes are, whatever they were cut by. @throws Corrupt. */
  async #described(recipe: Recipe, from: number, bytes: Uint8Array): Promise<Recipe> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let index = from; index < recipe.lengths.length && length < bytes.length; index++)
      chunks.push(bytes.subarray(length, (length += recipe.lengths[index] ?? 0)));
    const described = sliceRecipe(recipe, from, from + chunks.length);
    if (Buffer.compare(await this.#executor.digest(chunks), described.digests) === 0) return described;
    throw new RunnelError("Corrupt", "write", "Data for an item is not what its descriptors say.");
  }

  /** Redirects runs of data for the log record, which are in a staged file now. */
  #toStaged(): void {
    for (const part of this.#items) {
      part.runs = part.runs?.map(toTemp);
      if (part.filled !== undefined) part.filled.runs = part.filled.runs.map(toTemp);
    }
  }

  async #finish(oid: Uint8Array): Promise<FinishedWrite> {
    if (this.#offset !== this.sizeBytes) throw wrong("A write has fewer bytes than it announced.");
    const recipe = concatRecipes(this.#items.map((part) => part.recipe));
    const digest = await this.#executor.digest([encodeRecipe(recipe)]);
    if (Buffer.compare(digest, oid) !== 0)
      throw new RunnelError("Corrupt", "write", "What came is not what was sent: its OID differs.");
    const { data, temp } = await this.#data.finish(this.sizeBytes);
    const runs = joinRuns(this.#items.flatMap((part) => part.runs ?? []));
    // Items are as long as the file: one copy is enough from here on.
    this.#items.length = 0;
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

/** Runs that are cut and stored while the next is received. */
const WORKING_MAX = 2;
function wrong(message: string): RunnelError {
  return new RunnelError("Invalid", "write", message, { detail: { rule: "W20" } });
}

function furtherPlaces({ runs }: Pick<Item, "runs">): number {
  return Math.max(0, (runs?.length ?? 0) - 1);
}

/** Counts the bytes that stand in the item itself. */
function bytesIn(item: WriteItem): number {
  return item.reduce((sum: number, part) => sum + (part instanceof Uint8Array ? part.length : 0), 0);
}
