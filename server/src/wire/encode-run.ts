// Encodes and sends runs: as a delta against what the client holds, compressed, or as they are. The next is made while
// one leaves.
import type { Channel, FetchEncoding, OldBytes, PackedRun, Recipe, VersionId } from "@runnel/shared";
import { DeltaRegions, RunPacker, chunkOffsets, isRunnelError, passedThrough } from "@runnel/shared";
import type { OpenVersion } from "../content/content-store.ts";
import type { ChunkRun } from "../content/version-reader.ts";
import { readRun } from "../content/version-reader.ts";
import type { Volume } from "../volume/volume.ts";
import type { Sending } from "./device-share.ts";

/** Old bytes that a delta is made against, as a fetch names them. */
export type Delta = Exclude<FetchEncoding, string>;

/** Runs that leave while the next is read and compressed. */
const LEAVING_MAX = 2;

/** Copies of a run in memory: as it is read, as it is digested, and as it is compressed. */
const COPIES = 3;

/** A run as it is sent, and the item that announces it. */
export interface SentRun {
  item: unknown[];
  encoded: Uint8Array;
}

/** Sends runs one after another, each behind its item. */
export class RunSender {
  private readonly channel: Channel;
  private readonly sending: Sending;
  private readonly leaving: Promise<void>[] = [];

  constructor(channel: Channel, sending: Sending) {
    this.channel = channel;
    this.sending = sending;
  }

  /**
   * Sends a run of that many bytes, made when there is room for it. @throws what ended the channel, or what `make`
   * throws.
   */
  async send(bytes: number, make: () => Promise<SentRun>): Promise<void> {
    const { connection, places } = this.sending;
    const room = this.channel.isBackground ? places.backgroundBytes : places.askedBytes;
    const leave = await room.enter(connection, bytes);
    let leaves: Promise<void>;
    try {
      this.channel.abort.signal.throwIfAborted();
      passedThrough(COPIES * bytes);
      const { item, encoded } = await make();
      this.channel.send(item);
      leaves = this.channel.sendBulk(encoded);
    } catch (error) {
      leave();
      throw error;
    }
    void leaves.then(leave, leave);
    this.leaving.push(leaves);
    if (this.leaving.length > LEAVING_MAX) await this.leaving.shift();
  }

  /** Resolves when all has left. @throws what ended the channel. */
  async end(): Promise<void> {
    await Promise.all(this.leaving);
  }
}

/** A version that the client holds whole. */
export interface HeldByClient {
  version: VersionId;
  recipe: Recipe;
}

/** Encodes runs of one content against the held version that it has most in common with. */
export class DeltaEncoder {
  private readonly volume: Volume;
  private readonly packer: RunPacker<Delta>;
  private readonly recipe: Recipe;
  private readonly held: readonly HeldByClient[];
  private base: { index: number; held: HeldByClient; regions: DeltaRegions } | undefined;
  private open: OpenVersion | undefined;
  /** The old bytes cannot be had, or there are none: told once, not tried again. */
  private isWithout: boolean;

  constructor(volume: Volume, packer: RunPacker<Delta>, recipe: Recipe, held: readonly HeldByClient[]) {
    this.volume = volume;
    this.packer = packer;
    this.recipe = recipe;
    this.held = held;
    this.isWithout = held.length === 0;
  }

  encode(bytes: Uint8Array, run: ChunkRun): Promise<PackedRun<Delta>> {
    return this.packer.pack(bytes, () => this.oldBytes(run));
  }

  private async oldBytes(run: ChunkRun): Promise<OldBytes<Delta> | undefined> {
    if (this.isWithout) return undefined;
    this.base ??= this.findBase();
    const region = this.base?.regions.regionFor(run.from, run.count);
    if (this.base === undefined || region === undefined) return undefined;
    const bytes = await this.read(this.base.held, region);
    return bytes && { bytes, encoding: [this.base.index, region.from, region.count] };
  }

  /** Looked for when there is something to encode: it means going through all chunks. */
  private findBase(): { index: number; held: HeldByClient; regions: DeltaRegions } | undefined {
    let base: { index: number; held: HeldByClient; regions: DeltaRegions } | undefined;
    for (const [index, one] of this.held.entries()) {
      if (one.recipe.lengths.length === 0) continue;
      const regions = new DeltaRegions(this.recipe, one.recipe);
      if (base === undefined || regions.matches > base.regions.matches) base = { index, held: one, regions };
    }
    this.isWithout = base === undefined;
    return base;
  }

  async close(): Promise<void> {
    await this.open?.close();
  }

  private async read(
    { version, recipe }: HeldByClient,
    { from, count }: { from: number; count: number },
  ): Promise<Uint8Array | undefined> {
    const offsets = chunkOffsets(recipe);
    const offset = offsets[from] ?? 0;
    const run = { from, count, offset, length: (offsets[from + count] ?? 0) - offset };
    try {
      this.open ??= await this.volume.content.open(version);
      return await readRun(this.open, recipe, run, this.volume.executor);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      this.isWithout = true;
      return undefined;
    }
  }
}
