// Sends a content as a write: ranges of the base as copies, chunks that some known version holds by digest and place,
// the rest as compressed runs (against old bytes where there are any), the end with the OID; then what the server says
// it needs. Resumes at the item that the server names. Cutting, compressing and sending overlap.
import type { Channel, Executor, PackedRun, Recipe } from "@runnel/shared";
import {
  CHUNK_PRESETS,
  DeltaRegions,
  LIMITS,
  RunMemory,
  RunPacker,
  RunnelError,
  WRITE_REPLY,
  check,
  chunkOffsets,
  encodeRecipe,
  isRunnelError,
  likelyChunks,
  checkResult,
} from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Received } from "../wire/received.ts";
import type { Session } from "../wire/session.ts";
import type { Transfer } from "../view/transfers.ts";
import type { CutContent } from "./cut-content.ts";
import type { KnownVersion } from "./delta-base.ts";
import { DeltaBase } from "./delta-base.ts";
import type { Delta } from "./delta-base.ts";
import type { ReuseCounts } from "./arrivals.ts";
import { EarlyItems } from "./early-items.ts";
import type { ItemSink } from "./early-items.ts";
import type { GuessedBase } from "./guessed-base.ts";
import { UploadPlan, isSameVersion } from "./upload-plan.ts";
import { Unaccepted } from "./unaccepted.ts";
import type { DataItem, Item, References } from "./upload-plan.ts";

/** A content that is to be sent. */
export interface Outgoing {
  cut: CutContent;
  /** The version the edit started from, when the server has it. */
  base: KnownVersion | undefined;
  /** Version that it may be made of where there is no base. */
  guessed?: GuessedBase | undefined;
  references: References;
  /**
   * A long content that begins as nothing of the base does is sent while it is being cut. The same for all attempts:
   * what is sent depends on it.
   */
  isLineFast: boolean;
  /** Chunks that nothing is known of are named by digest first, and sent when the server says that it needs them. */
  asksFirst?: boolean;
  /** Entry in the register of what moves. */
  transfer?: Transfer;
}

/** Place of a content among other changes that are sent in their order. */
export interface Turn {
  /** Numbers of those that it is executed after, or not at all. */
  after: readonly number[];
  /** Resolves when the server has been asked for them. */
  comes: Promise<unknown>;
  /** Called when the server is asked for it. */
  opened(): void;
}

export interface WriteRequest {
  n: number;
  /**
   * Asked when the request goes: what another one has said since must not be taken back, or the server no longer keeps
   * what `after` names.
   */
  received: () => Received;
  node: number;
  base: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  isResumed: boolean;
  /** Operations that must be executed before, or this one is not. */
  after: readonly number[];
  /** Aborted when its file is paused. */
  paused: AbortSignal;
  /** Asked when it turns out that a resumed write was not executed before: false = do not send it (Stale). */
  mayStart?: () => boolean;
  /** It waits until it may be asked for, and says when it has been. */
  turn?: Pick<Turn, "comes" | "opened">;
}

export interface WriteResult {
  node: number;
  seq: number;
  version: number;
  conflict: boolean;
}

/** Encoded runs up to this size go inside their item: one frame instead of two. */
const INLINE_BYTES = 16 * 1024;
/** Runs being read and compressed at once, and runs waiting to be sent: memory, and overlap of work with the line. */
const PACKED_AHEAD = 3;
const SENT_AHEAD = 3;

/** Smaller contents are sent at once: to ask for them takes a round trip. */
const ASKED_BYTES_MIN = 64 * 1024;
/** Smaller ones that have no chunk of what they replace may still be little as a difference from it. */
const REPLACED_BYTES_MIN = 256 * 1024;

/** A write under way. */
interface Stream {
  sink: ItemSink;
  /** Answers of the server, which say what it has accepted; undefined for few items. */
  replies: Pick<Channel, "next"> | undefined;
  unaccepted: Unaccepted;
  outgoing: Outgoing;
  packer: RunPacker<Delta>;
  /** Last run that repeats one chunk: a large hole is many of the same. */
  repeated: { chunk: string; length: number; packed: Promise<PackedRun<Delta>> } | undefined;
  deltas: DeltaBase | undefined;
}

/** An item on its way, data being packed. */
interface QueuedItem {
  item: Item;
  packed: Promise<PackedRun<Delta>> | undefined;
}

interface UploadDeps {
  cache: Cache;
  session: Session;
  executor: Executor;
  reused: ReuseCounts;
}

export class Uploads {
  readonly #deps: UploadDeps;
  readonly #memory = new RunMemory(PACKED_AHEAD + SENT_AHEAD);

  constructor(deps: UploadDeps) {
    this.#deps = deps;
  }

  /**
   * Makes one attempt. @throws Unreachable when the link broke (try again with isResumed), Gone when a version copied
   * from is no longer kept (try again without base), and the server's refusals.
   */
  async send(outgoing: Outgoing, request: WriteRequest): Promise<WriteResult> {
    const deltas = await this.#deltasOf(outgoing);
    const { base, references, transfer } = outgoing;
    transfer?.restarted();
    const { cut, asksFirst = false } = outgoing;
    const asked =
      asksFirst && cut.sizeBytes > ASKED_BYTES_MIN ? { asksFirst: likelyChunks(cut.sizeBytes, cut.preset) } : {};
    const hasDeltas = deltas !== undefined;
    const plan = new UploadPlan({ cache: this.#deps.cache, base, references, hasDeltas, ...asked });
    const packer = new RunPacker<Delta>(this.#deps.executor, () => this.#deps.session.ratePerSecond);
    const sources = { outgoing, packer, deltas, repeated: undefined };
    const early =
      request.isResumed || outgoing.cut.sizeBytes > CHUNK_PRESETS[0].maxBytes
        ? undefined
        : await this.#gather({ ...sources, replies: undefined, unaccepted: new Unaccepted(0) }, plan);
    const opening = early?.forOpening;
    // Data that depends on nothing is never asked for again.
    const isWhole = opening !== undefined && deltas === undefined && plan.items.every(({ is }) => is === "data");
    await request.turn?.comes;
    request.paused.throwIfAborted();
    const channel = this.#deps.session.open(
      "write",
      {
        ...(opening === undefined ? {} : { items: opening }),
        n: request.n,
        ...(request.after.length === 0 ? {} : { after: request.after }),
        ...request.received(),
        timeNs: request.ctimeNs,
        node: request.node,
        base: request.base,
        sizeBytes: outgoing.cut.sizeBytes,
        // Without one of its own the operation's time is the content's.
        attributes: request.mtimeNs === request.ctimeNs ? {} : { mtimeNs: request.mtimeNs },
        ...(outgoing.cut.preset === 0 ? {} : { preset: outgoing.cut.preset }),
        isResumed: request.isResumed,
      },
      isWhole,
    );
    request.turn?.opened();
    const answer = channel.result();
    answer.catch(() => undefined);
    const stop = (): void => channel.cancel();
    request.paused.addEventListener("abort", stop);
    try {
      const from = request.isResumed ? await this.#resumeAt(channel) : 0;
      if (from !== undefined) {
        if (request.mayStart?.() === false)
          throw new RunnelError("Stale", "write", "The file was changed elsewhere meanwhile.");
        const stream = { ...sources, sink: channel, replies: channel, unaccepted: new Unaccepted(from) };
        if (early === undefined) await unlessRefused(answer, this.#sendItems(stream, plan, from));
        else if (opening === undefined) await unlessRefused(answer, early.sendOn(channel));
        if (!isWhole) await unlessRefused(answer, this.#serveNeeds(stream, channel, plan.items));
      }
      const result = checkResult("write", await answer);
      channel.end();
      await this.#countReuse(outgoing, plan.items);
      return result;
    } catch (error) {
      channel.cancel();
      request.paused.throwIfAborted();
      throw error;
    } finally {
      request.paused.removeEventListener("abort", stop);
    }
  }

  /** @returns undefined when it has been executed before: then the result comes. */
  async #resumeAt(channel: Channel): Promise<number | undefined> {
    const message = await channel.next();
    if (message === undefined) return undefined;
    const reply = check(WRITE_REPLY, message, "write reply");
    if (reply[0] !== "from") throw unexpected("answered a resumed write with something unexpected");
    return reply[1];
  }

  /** Old bytes can be found once all has been cut: worth it when there are any. */
  async #deltasOf(outgoing: Outgoing): Promise<DeltaBase | undefined> {
    const { cut, base, guessed, references, isLineFast, asksFirst = false } = outgoing;
    if (references === "none" || cut.sizeBytes === 0) return undefined;
    const known = base ?? (await guessed?.of(cut, isLineFast));
    if (known === undefined) return undefined;
    if (isLineFast) {
      const { recipe, end } = await cut.firstWindow();
      if (end < cut.sizeBytes && new DeltaRegions(recipe, known.recipe).matches === 0) return undefined;
    }
    const { recipe } = await cut.whole();
    // Another content rather than an edit: the server's supply may have it whole.
    const isAsked = asksFirst && cut.sizeBytes > REPLACED_BYTES_MIN;
    if (isAsked && new DeltaRegions(recipe, known.recipe).matches === 0) return undefined;
    return new DeltaBase(this.#deps.cache, recipe, known);
  }

  async #gather(stream: Omit<Stream, "sink">, plan: UploadPlan): Promise<EarlyItems> {
    const sink = new EarlyItems();
    await this.#sendItems({ ...stream, sink }, plan, 0);
    return sink;
  }

  async #sendItems(stream: Stream, plan: UploadPlan, from: number): Promise<void> {
    const { sink, outgoing } = stream;
    const queue: QueuedItem[] = [];
    const sending: Promise<void>[] = [];
    let index = 0;
    const put = async (items: readonly Item[]): Promise<void> => {
      for (const item of items) {
        if (index++ < from) {
          if (item.is === "data") notePassed(outgoing, item);
          continue;
        }
        queue.push({ item, packed: item.is === "data" ? this.#packItem(stream, item) : undefined });
        while (queue.length > PACKED_AHEAD) await this.#announceFirst(stream, queue, sending);
      }
    };
    for await (const window of outgoing.cut.windows()) await put(plan.add(window));
    await put(plan.end());
    while (queue.length > 0) await this.#announceFirst(stream, queue, sending);
    await Promise.all(sending);
    sink.send(["e", (await outgoing.cut.whole()).oid]);
  }

  /** @throws what the server refused the write with, or a connection that broke. */
  async #untilAccepted({ replies, unaccepted }: Stream): Promise<void> {
    if (replies === undefined) return;
    while (unaccepted.mustWait) {
      const message = await replies.next();
      if (message === undefined) throw unexpected("ended a write before its end");
      const reply = check(WRITE_REPLY, message, "write reply");
      if (reply[0] !== "accepted") throw unexpected("asked for something before the end");
      unaccepted.accepted(reply[1]);
    }
  }

  async #announceFirst(stream: Stream, queue: QueuedItem[], sending: Promise<void>[]): Promise<void> {
    const first = queue.shift();
    if (first === undefined) return;
    const { item, packed } = first;
    await this.#untilAccepted(stream);
    if (item.is !== "data") await this.#sendReference(stream, item);
    else if (packed !== undefined) {
      const run = await packed;
      stream.unaccepted.sent(isInline(run) ? run.encoded.length : 0);
      const announcing =
        item.repeats === undefined ? this.#announceOnce(stream.sink, run) : this.#announce(stream.sink, run);
      const announced = announcing.then(() => noteMoved(stream.outgoing, item, run));
      announced.catch(() => undefined);
      sending.push(announced);
    }
    if (sending.length > SENT_AHEAD) await sending.shift();
  }

  async #sendReference({ sink, outgoing, unaccepted }: Stream, item: Exclude<Item, { is: "data" }>): Promise<void> {
    const { node, seq } = item.version;
    if (item.is === "copy") {
      unaccepted.sent(0);
      sink.send(["c", [node, seq], item.at, item.count]);
      return;
    }
    const descriptors = encodeRecipe(await outgoing.cut.slice(item.from, item.from + item.count));
    this.#deps.session.recipeBytes.sent += descriptors.length;
    outgoing.transfer?.crossed(descriptors.length);
    unaccepted.sent(descriptors.length);
    // A content kept from another epoch: by digest alone.
    sink.send(["h", descriptors, node === 0 ? null : [node, seq], item.at]);
  }

  #packItem(stream: Stream, item: DataItem): Promise<PackedRun<Delta>> {
    const { repeated } = stream;
    const { length, repeats } = item;
    if (repeats !== undefined && repeated?.chunk === repeats && repeated.length === length) return repeated.packed;
    const packed = this.#packRun(stream, item);
    if (repeats !== undefined) stream.repeated = { chunk: repeats, length, packed };
    return packed;
  }

  #packRun({ outgoing, packer, deltas }: Stream, item: DataItem): Promise<PackedRun<Delta>> {
    const pack = async (): Promise<PackedRun<Delta>> => {
      // Bytes that are sent again and again have no end at which their memory would be free.
      const bytes = item.repeats === undefined ? this.#memory.take(item.length) : new Uint8Array(item.length);
      await outgoing.cut.content.read(item.offset, bytes);
      // A chunk that repeats shrinks without old bytes, and is the same run then wherever it stands.
      const mayBeOld = item.repeats === undefined || item.count === 1;
      const packed = await packer.pack(
        bytes,
        mayBeOld ? async () => deltas?.oldBytes(item.from, item.count) : undefined,
      );
      if (packed.encoded !== bytes && item.repeats === undefined) this.#memory.giveBack(bytes);
      return packed;
    };
    const packed = pack();
    packed.catch(() => undefined);
    return packed;
  }

  /** Announces a run; resolves when its bulk has left. */
  #announce(sink: ItemSink, run: PackedRun<Delta>): Promise<void> {
    const { encoding, rawBytes, encoded } = run;
    if (!isInline(run)) {
      sink.send(["d", encoding, rawBytes, encoded.length]);
      return sendRun(sink, encoded);
    }
    this.#deps.session.contentBytes.sent += encoded.length;
    sink.send(["d", encoding, rawBytes, encoded]);
    return Promise.resolve();
  }

  async #announceOnce(sink: ItemSink, packed: PackedRun<Delta>): Promise<void> {
    await this.#announce(sink, packed);
    this.#memory.giveBack(packed.encoded);
  }

  async #serveNeeds({ outgoing, packer }: Stream, channel: Channel, items: Item[]): Promise<void> {
    const served = new Set<number>();
    for (;;) {
      const message = await channel.next();
      if (message === undefined) return;
      const reply = check(WRITE_REPLY, message, "write reply");
      if (reply[0] === "accepted") continue;
      if (reply[0] !== "need") throw unexpected("asked for something unexpected");
      this.#deps.session.roundTrips++;
      const { recipe, oid } = await outgoing.cut.whole();
      const offsets = chunkOffsets(recipe);
      for (const index of reply[1]) {
        const item = items[index];
        if (item === undefined || served.has(index))
          throw unexpected("asked for an item that it has or that there is not");
        for (const run of splitRuns(recipe, offsets, item.from, item.count)) {
          const bytes = new Uint8Array(run.length);
          await outgoing.cut.content.read(run.offset, bytes);
          // Many may be asked for at once: what is bulk goes as the server reads it.
          const { encoding, rawBytes, encoded } = await packer.pack(bytes);
          channel.send(["r", index, encoding, rawBytes, encoded.length]);
          await sendRun(channel, encoded);
          outgoing.transfer?.moved(rawBytes, encoded.length, false);
        }
        served.add(index);
        const { from, count } = item;
        items[index] = { is: "data", from, count, offset: offsets[from] ?? 0, length: 0, repeats: undefined };
      }
      channel.send(["e", oid]);
    }
  }

  async #countReuse(outgoing: Outgoing, items: readonly Item[]): Promise<void> {
    const { recipe } = await outgoing.cut.whole();
    for (const item of items) {
      if (item.is === "data") continue;
      const isOfBase = outgoing.base !== undefined && isSameVersion(item.version, outgoing.base.version);
      if (isOfBase) this.#deps.reused.base += item.count;
      else this.#deps.reused.server += item.count;
      let bytes = 0;
      for (let index = item.from; index < item.from + item.count; index++) bytes += recipe.lengths[index] ?? 0;
      this.#deps.reused.bytes += bytes;
      outgoing.transfer?.reused(bytes, isOfBase);
    }
  }
}

function unexpected(what: string): RunnelError {
  return new RunnelError("Invalid", "write", `The server ${what}.`);
}

/** Notes data that an earlier attempt brought over. */
function notePassed({ transfer }: Outgoing, { offset, length }: DataItem): void {
  transfer?.passed(length);
  transfer?.reached(offset + length);
}

function noteMoved({ transfer }: Outgoing, { offset, length }: DataItem, run: PackedRun<Delta>): void {
  transfer?.moved(run.rawBytes, run.encoded.length, typeof run.encoding !== "string");
  transfer?.reached(offset + length);
}

function isInline({ encoded }: PackedRun<Delta>): boolean {
  return encoded.length <= INLINE_BYTES;
}

function sendRun(sink: ItemSink, encoded: Uint8Array): Promise<void> {
  const sent = sink.sendBulk(encoded);
  sent.catch(() => undefined);
  return sent;
}

/** Ends the work at once when the server refuses: bulk that it reads no more would wait for credit for ever. */
async function unlessRefused(answer: Promise<unknown>, work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  const refused = new Promise<never>((_resolve, reject) => {
    answer.catch(reject);
  });
  await Promise.race([work, refused]);
}

/** References of the next attempt, after this failure. @returns undefined when fewer would not mend it. */
export function fewerReferences(before: References, error: unknown): References | undefined {
  if (before === "none" || !isRunnelError(error, "Gone", "Lost", "Corrupt", "Stale")) return undefined;
  if (error.kind !== "Gone" || before === "digests") return "none";
  return before === "copies" ? "base" : "digests";
}

function splitRuns(
  recipe: Recipe,
  offsets: Float64Array,
  from: number,
  count: number,
): { offset: number; length: number }[] {
  const runs: { offset: number; length: number }[] = [];
  for (let index = from; index < from + count; index++) {
    const length = recipe.lengths[index] ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && last.length + length <= LIMITS.runBytes) last.length += length;
    else runs.push({ offset: offsets[index] ?? 0, length });
  }
  return runs;
}
