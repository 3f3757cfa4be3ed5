// A connection of this device to a colleague: dialed at whichever of its addresses answers with its key, and kept until
// it was idle for a while.
import {
  type ChunkSpan,
  type Clock,
  Connection,
  type Dialer,
  type Executor,
  FETCH_ITEM,
  LIMITS,
  type Link,
  PROTOCOL_VERSION,
  RunnelError,
  type SeenColleague,
  type Timer,
  check,
  sleep,
} from "@runnel/shared";
import type { NearbyAddress } from "./nearby/nearby.ts";

/** Addresses that are tried at once. */
const ADDRESSES_MAX = 4;
/** On a network at hand it answers sooner, or is not there. */
const DIAL_MS = 3_000;
const IDLE_MS = 60_000;
/** Addresses that the server knows are tried so long before others. */
const HEAD_START_MS = 300;
/** Whoever is there answers sooner, though it answers once in a second. */
const NEARBY_MS = 1_500;
/** Runs that a colleague sends ahead of what is read. */
const HELD_BYTES = 8 * 1024 * 1024;

export interface LineDeps {
  clock: Clock;
  executor: Executor;
  software: string;
  /** A dialer that takes the colleague's key and no other, and shows this device's own. */
  dialer: Dialer;
  colleague: Pick<SeenColleague, "addresses" | "port">;
  /** Tells where the colleague says by mDNS that it is, once it does. Left out: nobody listens. */
  nearby?(signal: AbortSignal): Promise<readonly NearbyAddress[]>;
  closed(): void;
}

/** Chunks as they came: nobody has digested them. */
export interface CameRun extends ChunkSpan {
  bytes: Uint8Array;
}

export class ColleagueLine {
  readonly #deps: LineDeps;
  readonly #connection: Connection;
  #idle: Timer | undefined;
  #asked = 0;

  private constructor(deps: LineDeps, link: Link) {
    this.#deps = deps;
    const { clock, executor, software } = deps;
    this.#connection = new Connection({
      link,
      isClient: true,
      clock,
      executor,
      mayHold: (bytes) => bytes <= HELD_BYTES,
      mayHoldBulk: (bytes) => bytes <= HELD_BYTES,
      opened: (_channel, operation) => {
        throw new RunnelError("Unsupported", operation, "A client opens all channels.");
      },
      closed: () => {
        this.#idle?.cancel();
        deps.closed();
      },
    });
    // The requests behind it need not wait for the answer.
    this.#connection.call("hello", { protocol: PROTOCOL_VERSION, software }).catch(() => undefined);
    this.#rest();
  }

  /** @throws Unreachable when none of its addresses answers in time, Denied when another device does. */
  static async dial(deps: LineDeps, signal: AbortSignal): Promise<ColleagueLine> {
    const { clock, dialer, colleague, nearby } = deps;
    const over = new AbortController();
    const timer = clock.after(DIAL_MS, () => over.abort());
    const ending = AbortSignal.any([signal, over.signal]);
    const attempts: Promise<Link>[] = [];
    const dial = (address: string, port: number): Promise<Link> => {
      const attempt = dialer.dial(`wss://${address.includes(":") ? `[${address}]` : address}:${port}/`, ending);
      attempts.push(attempt);
      return attempt;
    };
    const known = Promise.any(
      colleague.addresses.slice(0, ADDRESSES_MAX).map((address) => dial(address, colleague.port)),
    );
    const others = async (): Promise<Link> => {
      await Promise.race([known.catch(() => undefined), sleep(clock, HEAD_START_MS)]);
      const unheard = new AbortController();
      const late = clock.after(NEARBY_MS, () => unheard.abort());
      const found = (await nearby?.(AbortSignal.any([ending, unheard.signal]))) ?? [];
      late.cancel();
      return Promise.any(found.slice(0, ADDRESSES_MAX).map(({ address, port }) => dial(address, port)));
    };
    try {
      const link = await Promise.any(nearby === undefined ? [known] : [known, others()]);
      for (const attempt of attempts)
        void attempt.then((other) => other !== link && other.close(CLOSE_NORMAL, "")).catch(() => undefined);
      return new ColleagueLine(deps, link);
    } catch (cause) {
      throw new RunnelError("Unreachable", "dial", "The colleague cannot be reached.", { cause });
    } finally {
      timer.cancel();
      over.abort();
    }
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** Brings what the colleague has of these. @throws Denied, Busy; Invalid for chunks that were not asked for. */
  async *getChunks(ticket: Uint8Array, wanted: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<CameRun> {
    this.#idle?.cancel();
    this.#asked++;
    const packed = wanted.slice(0, LIMITS.chunkSpans).map(({ from, count }) => [from, count]);
    const channel = this.#connection.ask("getChunks", { ticket: new Uint8Array(ticket), wanted: packed });
    const stop = (): void => channel.cancel();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const message = await channel.next();
        if (message === undefined) return;
        const item = check(FETCH_ITEM, message, "getChunks item");
        const isAsked = (from: number, count: number): boolean =>
          count > 0 && wanted.some((span) => span.from <= from && from + count <= span.from + span.count);
        if (item[0] !== "d" || !isAsked(item[1], item[2])) throw strange();
        const [, from, count, encoding, rawBytes, encodedBytes] = item;
        if (rawBytes > LIMITS.runBytes || encodedBytes > LIMITS.runBytes) throw strange();
        const encoded = await channel.readBulk(encodedBytes);
        if (encoding === "zstd") yield { from, count, bytes: await this.#deps.executor.decompress(encoded, rawBytes) };
        else if (encoding === "raw") yield { from, count, bytes: encoded };
        else throw strange();
      }
    } finally {
      signal.removeEventListener("abort", stop);
      channel.cancel();
      this.#asked--;
      if (this.#asked === 0) this.#rest();
    }
  }

  close(): void {
    this.#connection.close(new RunnelError("Interrupted", "getChunks", "The connection is not needed any more."));
  }

  #rest(): void {
    this.#idle?.cancel();
    if (!this.isOpen) return;
    this.#idle = this.#deps.clock.after(IDLE_MS, () => this.close());
  }
}

/** RFC 6455 §7.4.1. */
const CLOSE_NORMAL = 1000;

function strange(): RunnelError {
  return new RunnelError("Invalid", "getChunks", "A colleague sent what it was not asked for.", {
    detail: { rule: "W198" },
  });
}
