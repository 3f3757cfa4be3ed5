// fetch: a version's recipe as a delta against what the client holds, and the chunks of a range that it lacks; raw
// ranges of a file that has no recipe yet. One round trip ([W30]).
import type { Channel, ChunkSpan, Recipe, RequestOf, SentResultOf, VersionId } from "@runnel/shared";
import {
  DESCRIPTOR_BYTES,
  EMPTY_RECIPE,
  HeldChunks,
  LIMITS,
  RECIPE_LIST_BYTES,
  RunPacker,
  RunnelError,
  chunkAt,
  chunkOffsets,
  encodeRecipe,
  isDeltaWithin,
  recipeDeltaLists,
  sliceRecipe,
} from "@runnel/shared";
import type { OpenVersion } from "../../content/content-store.ts";
import type { LiveTransfer } from "../../live/attachment-transfers.ts";
import type { Volume } from "../../volume/volume.ts";
import { readRun } from "../../content/version-reader.ts";
import type { Sending } from "../device-share.ts";
import type { Delta, HeldByClient, SentRun } from "../encode-run.ts";
import { DeltaEncoder, RunSender } from "../encode-run.ts";
import type { FetchSettings } from "../fetch-runs.ts";
import { fetchRuns, runBytesAt } from "../fetch-runs.ts";
import type { Call } from "./call.ts";

/**
 * A client that can do without the recipe gets one that is hardly longer than what is said around it, or that it shares
 * half of (W140).
 */
const LITTLE_BYTES = 2048;
/** A longer recipe waits for room, and for what was said before it to be sent. */
const LONG_BYTES = 64 * 1024;

export async function serveFetch(request: RequestOf<"fetch">, call: Call): Promise<void> {
  const { connection, places } = call.sending;
  await places.fetches.run(connection, () => sendVersion(request, call));
}

async function sendVersion(request: RequestOf<"fetch">, { attachment, volume, channel, sending }: Call): Promise<void> {
  channel.abort.signal.throwIfAborted();
  const recipe = await volume.recipes.get(request.version);
  const open = await volume.content.open(request.version);
  try {
    const held = await heldRecipes(volume, request.held);
    const toSay = recipe && !request.hasRecipe ? { recipe, held, isOptional: request.part !== undefined } : undefined;
    const isSaid = await sayVersion(open.sizeBytes, toSay, channel, sending);
    using live = attachment.transfers.fetch(request.version.node, open.sizeBytes, request.offset);
    const stream = new FetchStream(volume, channel, open, request, sending, live);
    using told = recipe && volume.colleagues.sending(attachment, request.version, chunksOf(recipe, request));
    stream.sent = (chunk) => told?.upTo(chunk);
    if (recipe === undefined) await stream.sendRaw();
    else await stream.sendChunks(recipe, held, isSaid || request.hasRecipe);
  } finally {
    await open.close();
  }
}

function chunksOf(recipe: Recipe, { offset, length }: RequestOf<"fetch">): ChunkSpan[] {
  const sizeBytes = chunkOffsets(recipe).at(-1) ?? 0;
  const end = Math.min(sizeBytes, offset + length);
  if (offset >= end) return [];
  const from = chunkAt(recipe, offset);
  return [{ from, count: chunkAt(recipe, end - 1) + 1 - from }];
}

interface ToSay {
  recipe: Recipe;
  held: Held;
  isOptional: boolean;
}

/**
 * The length, and the recipe where it is to be said. A long one goes in parts, each made when there is room for it: a
 * client that does not read keeps no more than one. True: the recipe was said.
 */
async function sayVersion(
  sizeBytes: number,
  toSay: ToSay | undefined,
  channel: Channel,
  { connection, places, drained }: Sending,
): Promise<boolean> {
  if (toSay === undefined || !isToBeSaid(toSay)) {
    channel.send(["v", sizeBytes, null]);
    return false;
  }
  const bytes = wholeBytesOf(toSay);
  const isLong = bytes > LONG_BYTES;
  const lists = recipeDeltaLists(toSay.recipe, toSay.held.chunks);
  for (let isFirst = true; ; isFirst = false) {
    const room = Math.min(bytes, RECIPE_LIST_BYTES);
    const leave = isLong ? await places.askedBytes.enter(connection, room) : undefined;
    try {
      channel.abort.signal.throwIfAborted();
      const { value, done } = lists.next();
      if (done === true) return true;
      channel.send(isFirst ? ["v", sizeBytes, value] : ["p", value]);
      if (isLong) await drained();
    } finally {
      leave?.();
    }
  }
}

function wholeBytesOf({ recipe }: ToSay): number {
  return recipe.lengths.length * DESCRIPTOR_BYTES;
}

/** A client that holds nothing and can do without a recipe gets a short one only. */
function isPassedOver(toSay: ToSay): boolean {
  return toSay.isOptional && toSay.held.versions.length === 0 && wholeBytesOf(toSay) > LITTLE_BYTES;
}

function isToBeSaid(toSay: ToSay): boolean {
  const { recipe, held, isOptional } = toSay;
  if (!isOptional) return true;
  const bytesMax = Math.max(LITTLE_BYTES, wholeBytesOf(toSay) / 2);
  return !isPassedOver(toSay) && isDeltaWithin(recipe, held.chunks, bytesMax);
}

/** The bytes of one fetch. What is not waited for goes when no other channel has anything to send (W142). */
class FetchStream {
  private readonly volume: Volume;
  private readonly channel: Channel;
  private readonly open: OpenVersion;
  private readonly packer: RunPacker<Delta>;
  private readonly runs: RunSender;
  private readonly from: number;
  private readonly end: number;
  private readonly askedEnd: number;
  private readonly wholeBytes: number;
  private readonly live: LiveTransfer;
  /** Is told of the end of each run, as a chunk of the recipe. */
  sent: (chunk: number) => void = () => {};
  private movedBytes = 0;
  private wireBytes = 0;

  constructor(
    volume: Volume,
    channel: Channel,
    open: OpenVersion,
    request: RequestOf<"fetch">,
    sending: Sending,
    live: LiveTransfer,
  ) {
    const { offset, length, asked, part } = request;
    this.volume = volume;
    this.channel = channel;
    this.open = open;
    this.packer = new RunPacker<Delta>(volume.executor, () => channel.ratePerSecond);
    this.runs = new RunSender(channel, sending);
    this.from = offset;
    this.end = Math.min(open.sizeBytes, offset + length);
    this.askedEnd = Math.min(this.end, offset + (asked ?? length));
    this.wholeBytes = part ?? Infinity;
    this.live = live;
  }

  async sendRaw(): Promise<void> {
    for (let offset = this.from; offset < this.end && !this.isAborted;) {
      await this.reached(offset);
      const stop = offset < this.askedEnd ? this.askedEnd : this.end;
      const length = Math.min(runBytesAt(this.channel.ratePerSecond), stop - offset);
      const at = offset;
      await this.runs.send(length, async () => this.packRange(at, await this.open.read(at, length)));
      offset += length;
    }
    await this.ended();
  }

  /** `hasRecipe`: the client knows the chunks by their place in it. */
  async sendChunks(recipe: Recipe, held: Held, hasRecipe: boolean): Promise<void> {
    const { executor } = this.volume;
    const deltas = new DeltaEncoder(this.volume, this.packer, recipe, held.versions);
    try {
      for (const run of fetchRuns(recipe, this.from, this.end, this.settings(held))) {
        if (this.isAborted) break;
        await this.reached(run.offset);
        await this.runs.send(run.length, async () => {
          const bytes = await readRun(this.open, recipe, run, executor);
          if (run.cut !== undefined) {
            const at = run.cut.offset - run.offset;
            return this.packRange(run.cut.offset, bytes.subarray(at, at + run.cut.length));
          }
          const { encoding, encoded } = await deltas.encode(bytes, run);
          this.moved(bytes.length, encoded.length, run.offset + bytes.length);
          const chunks = hasRecipe
            ? ["d", run.from, run.count]
            : ["s", run.offset, encodeRecipe(sliceRecipe(recipe, run.from, run.from + run.count))];
          return { item: [...chunks, encoding, bytes.length, encoded.length], encoded };
        });
        this.sent(run.from + run.count);
      }
    } finally {
      await deltas.close();
    }
    await this.ended();
  }

  private moved(rawBytes: number, wireBytes: number, upTo: number): void {
    this.movedBytes += rawBytes;
    this.wireBytes += wireBytes;
    this.live.moved(rawBytes, wireBytes, upTo);
  }

  /** Waits until all has left, and counts it: what was not sent the client had. */
  private async ended(): Promise<void> {
    await this.runs.end();
    const askedBytes = this.isAborted ? this.movedBytes : Math.max(0, this.end - this.from);
    this.live.had(askedBytes - this.movedBytes, this.isAborted ? 0 : this.end);
    this.volume.traffic.fetched(askedBytes, this.wireBytes);
  }

  private get isAborted(): boolean {
    return this.channel.abort.signal.aborted;
  }

  private settings(held: Held): FetchSettings {
    return {
      held: held.chunks,
      wholeBytes: this.wholeBytes,
      border: this.askedEnd,
      runBytes: () => runBytesAt(this.channel.ratePerSecond),
    };
  }

  /** The next run begins here. */
  private async reached(offset: number): Promise<void> {
    if (offset < this.askedEnd || this.channel.isBackground) return;
    // Runs that are waited for have left before the rest steps back.
    await this.runs.end();
    this.channel.isBackground = true;
  }

  private async packRange(offset: number, bytes: Uint8Array): Promise<SentRun> {
    const { encoding, encoded } = await this.packer.pack(bytes);
    this.moved(bytes.length, encoded.length, offset + bytes.length);
    return { item: ["raw", offset, encoding, bytes.length, encoded.length], encoded };
  }
}

/** getHash: descriptors of a range of chunks, and the OID of all. */
export async function serveGetHash(request: RequestOf<"getHash">, { volume }: Call): Promise<SentResultOf<"getHash">> {
  const row = await volume.meta.version(request.version);
  if (row === undefined) throw new RunnelError("Gone", "getHash", "This version is no longer kept.");
  if (request.oid === true && !row.hasRecipe) await volume.cutFirst(request.version, CUT_WAIT_MS);
  const recipe = await volume.recipes.get(request.version);
  const oid = async (): Promise<Uint8Array | null> =>
    recipe === undefined ? null : volume.executor.digest([encodeRecipe(recipe)]);
  const more = request.oid === true ? { oid: await oid() } : {};
  if (recipe === undefined) return { sizeBytes: row.sizeBytes, recipe: null, chunks: 0, ...more };
  const count = Math.min(request.count, LIMITS.recipeDescriptorsPerItem);
  const part = sliceRecipe(recipe, request.from, request.from + count);
  return { sizeBytes: row.sizeBytes, recipe: encodeRecipe(part), chunks: recipe.lengths.length, ...more };
}

/** Less than the silence after which a client takes the server for away. */
const CUT_WAIT_MS = 1_000;

interface Held {
  versions: HeldByClient[];
  chunks: HeldChunks;
}

async function heldRecipes(volume: Volume, versions: readonly VersionId[]): Promise<Held> {
  const held: HeldByClient[] = [];
  for (const version of versions) {
    // A version that is not known any more still takes its place, so that indexes agree.
    held.push({ version, recipe: (await volume.recipes.get(version)) ?? EMPTY_RECIPE });
  }
  return { versions: held, chunks: new HeldChunks(held.map(({ recipe }) => recipe)) };
}
