// New data of a write as it is received: inside its item or on the bulk stream, as it is, compressed, or as a delta
// against chunks of a version.
import type { Channel, Executor, RunEncoding } from "@runnel/shared";
import { LIMITS, RunMemory, RunnelError, isRunnelError, passedThrough } from "@runnel/shared";
import type { HeldVersions } from "./held-versions.ts";
import type { Semaphore } from "../host/semaphore.ts";
import { chunkRuns, readRun } from "../content/version-reader.ts";

/** Memory of all writes: enough for some runs at once. */
const memory = new RunMemory(8);
/** Bound of what zstd's worst case has more than the input. */
const ENCODED_SLACK_BYTES = 1024;

/** Run as it was received. */
export interface ReceivedRun {
  encoding: RunEncoding;
  rawBytes: number;
  encoded: Uint8Array;
  /** Releases the memory; to be called once, when nobody needs `encoded` any more, nor what was made of it. */
  done(): void;
}

export class RunDecoder {
  readonly #held: HeldVersions;
  readonly #executor: Executor;
  readonly #memory = memory;

  constructor(held: HeldVersions, executor: Executor) {
    this.#held = held;
    this.#executor = executor;
  }

  /**
   * Receives a run, as it is, once it may enter `slots`, which `done` leaves: what waits for that lies on the channel
   * still. @throws Invalid for impossible lengths; it has left then.
   */
  async receive(
    encoding: RunEncoding,
    rawBytes: number,
    from: number | Uint8Array,
    channel: Channel,
    slots: Semaphore,
  ): Promise<ReceivedRun> {
    if (rawBytes === 0 || rawBytes > LIMITS.runBytes) throw wrong("A run has an impossible length.");
    const encodedBytes = typeof from === "number" ? checkEncoded(from, rawBytes) : from.length;
    if (encoding === "raw" && encodedBytes !== rawBytes) throw wrong("A run has another length than announced.");
    if (typeof from === "number") await channel.bulkHere(encodedBytes);
    await slots.enter();
    try {
      channel.abort.signal.throwIfAborted();
      const encoded =
        typeof from === "number" ? await channel.readBulk(encodedBytes, (length) => this.#memory.take(length)) : from;
      const done = (): void => {
        if (typeof from === "number") this.#memory.giveBack(encoded);
        slots.leave();
      };
      return { encoding, rawBytes, encoded, done };
    } catch (error) {
      slots.leave();
      throw error;
    }
  }

  /**
   * Decodes a run. @returns undefined for a delta that does not decode here, because its old bytes are not there or are
   * others: it has to be sent in another form. @throws Corrupt for what is not zstd, Invalid for a delta against what
   * cannot be.
   */
  async decode({ encoding, rawBytes, encoded }: ReceivedRun): Promise<Uint8Array | undefined> {
    if (encoding === "raw") return encoded;
    passedThrough(rawBytes);
    return encoding === "zstd"
      ? this.#executor.decompress(encoded, rawBytes)
      : this.#applyDelta(encoding, encoded, rawBytes);
  }

  async #applyDelta(
    [version, from, count]: Exclude<RunEncoding, string>,
    encoded: Uint8Array,
    rawBytes: number,
  ): Promise<Uint8Array | undefined> {
    const held = await this.#held.get(version);
    if (held === undefined) return undefined;
    if (count === 0 || from + count > held.recipe.lengths.length)
      throw wrong("A delta names chunks that the version does not have.");
    const [region, ...more] = chunkRuns(held.recipe, indexes(from, count));
    if (region === undefined || more.length > 0) throw wrong("A delta names more than 1 MiB of old bytes.");
    if (held.open === undefined) return undefined;
    try {
      const old = await readRun(held.open, held.recipe, region, this.#executor);
      return await this.#executor.decompress(encoded, rawBytes, old);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      return undefined;
    }
  }
}

function* indexes(from: number, count: number): Iterable<number> {
  for (let index = from; index < from + count; index++) yield index;
}

function checkEncoded(encodedBytes: number, rawBytes: number): number {
  if (encodedBytes === 0 || encodedBytes > rawBytes + ENCODED_SLACK_BYTES)
    throw wrong("A run's encoded length is impossible.");
  return encodedBytes;
}

function wrong(message: string): RunnelError {
  return new RunnelError("Invalid", "write", message, { detail: { rule: "W20" } });
}
