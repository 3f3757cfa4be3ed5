// A colleague's connection to this device. Until it has shown a ticket it may say as little as a stranger may to a
// server (W73), and it never gets more than the version of its ticket (W197).
import {
  type Channel,
  type Clock,
  Connection,
  type Executor,
  GET_CHUNKS,
  LIMITS,
  type Link,
  PROTOCOL_VERSION,
  RunnelError,
  RunPacker,
  type Ticket,
  TIMING,
  check,
  checkRequest,
  spansFrom,
  ticketDenied,
} from "@runnel/shared";
import type { Offer } from "./offer.ts";

export interface IncomingColleagueDeps {
  link: Link;
  clock: Clock;
  executor: Executor;
  software: string;
  /** Offers of all drives. */
  offers(): Iterable<Offer>;
  /** It has shown a ticket. */
  admitted(): void;
  ended(): void;
}

/** All that it says is a few requests at a time. */
const HELD_BYTES = 1024 * 1024;

export class IncomingColleague {
  readonly #deps: IncomingColleagueDeps;
  readonly #connection: Connection;
  readonly #grace: Disposable;
  #hasGreeted = false;
  #isAdmitted = false;
  #serving = 0;

  constructor(deps: IncomingColleagueDeps) {
    this.#deps = deps;
    const { link, clock, executor } = deps;
    link.limit(LIMITS.unauthenticatedBytes);
    const timer = clock.after(TIMING.loginGraceMs, () =>
      this.close(new RunnelError("Unreachable", "hello", "The connection did not say in time whose it is.")),
    );
    this.#grace = { [Symbol.dispose]: () => timer.cancel() };
    this.#connection = new Connection({
      link,
      isClient: false,
      isUnauthenticated: true,
      clock,
      executor,
      mayHold: (bytes) => bytes <= HELD_BYTES,
      mayHoldBulk: (bytes) => bytes === 0,
      takesBulk: () => false,
      opened: (channel, operation, request) => this.#opened(channel, operation, request),
      closed: () => {
        timer.cancel();
        deps.ended();
      },
    });
  }

  /** Fingerprint of its key. */
  get key(): Uint8Array | undefined {
    return this.#deps.link.peerKey;
  }

  /** It has shown a ticket. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  close(error: RunnelError): void {
    this.#connection.close(error);
  }

  #opened(channel: Channel, operation: string, message: unknown): void | Promise<void> {
    if (operation === "hello") this.#hello(channel, message);
    else if (operation === "getChunks") return this.#getChunks(channel, message);
    else throw new RunnelError("Unsupported", operation.slice(0, 50), "A colleague does not know the operation.");
  }

  #hello(channel: Channel, message: unknown): void {
    const { protocol } = checkRequest("hello", message);
    if (protocol !== PROTOCOL_VERSION)
      throw new RunnelError("Version", "hello", `This device speaks protocol ${PROTOCOL_VERSION}.`, {
        detail: { need: PROTOCOL_VERSION },
      });
    if (this.#hasGreeted) throw new RunnelError("Invalid", "hello", "hello comes once.", { detail: { rule: "W11" } });
    this.#hasGreeted = true;
    channel.end({ protocol: PROTOCOL_VERSION, software: this.#deps.software, termMs: 0, features: [] });
  }

  async #getChunks(channel: Channel, message: unknown): Promise<void> {
    const { ticket, wanted } = check(GET_CHUNKS, message, "getChunks");
    if (!this.#hasGreeted)
      throw new RunnelError("Invalid", "getChunks", "The first request of a connection is hello.", {
        detail: { rule: "W11" },
      });
    const { offer, good } = this.#offerFor(ticket);
    this.#admit();
    if (this.#serving >= LIMITS.colleagueRequests)
      throw new RunnelError("Busy", "getChunks", "Too many requests are under way.", {
        detail: { limit: LIMITS.colleagueRequests, retryAfterMs: 100 },
      });
    this.#serving++;
    try {
      await this.#serve(channel, offer, good, spansFrom(wanted));
    } finally {
      this.#serving--;
    }
  }

  async #serve(channel: Channel, offer: Offer, good: Ticket, wanted: ReturnType<typeof spansFrom>): Promise<void> {
    const { signal } = channel.abort;
    const packer = new RunPacker<never>(this.#deps.executor, () => channel.ratePerSecond);
    channel.isBackground = true;
    let sent: Promise<void> = Promise.resolve();
    for await (const { from, count, bytes } of offer.read(good.version, wanted)) {
      await offer.limit.take(bytes.length, signal);
      signal.throwIfAborted();
      offer.mustBeGood(good);
      const { encoding, encoded } = await packer.pack(bytes);
      // A run leaves while the next is read.
      await sent;
      channel.send(["d", from, count, encoding, bytes.length, encoded.length]);
      sent = channel.sendBulk(encoded);
      sent.catch(() => undefined);
    }
    await sent;
    channel.end();
  }

  /** @throws Denied with what the last drive says of it. */
  #offerFor(ticket: Uint8Array): { offer: Offer; good: Ticket } {
    let why: unknown = ticketDenied("Nothing is given away here now.");
    for (const offer of this.#deps.offers()) {
      try {
        return { offer, good: offer.ticketFor(ticket, this.key) };
      } catch (error) {
        why = error;
      }
    }
    throw why;
  }

  #admit(): void {
    if (this.#isAdmitted) return;
    this.#isAdmitted = true;
    this.#grace[Symbol.dispose]();
    this.#deps.link.limit(undefined);
    this.#deps.admitted();
    this.#connection.admit();
  }
}
