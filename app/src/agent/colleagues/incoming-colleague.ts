// A colleague's connection to this device. Until it has shown a ticket it may say as little as a stranger may to a
// server (W73), and it never gets more than the version of its ticket (W197). Who shows tickets that are none, or is
// closed for what it says, may so a few times only (W212).
import {
  type Channel,
  type Clock,
  Connection,
  type Executor,
  type FailedTries,
  type FailedTriesByAddress,
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
  isRunnelError,
  spansFrom,
  ticketDenied,
} from "@runnel/shared";
import { type Offer, textOf } from "./offer.ts";

export interface IncomingColleagueDeps {
  link: Link;
  clock: Clock;
  executor: Executor;
  software: string;
  /** Offers of all drives. */
  offers(): Iterable<Offer>;
  /** Tickets that were none, of all connections, and connections of a key that were closed for what they said. */
  failedTickets: FailedTriesByAddress;
  cutOffs: FailedTries;
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
      closed: (error) => {
        timer.cancel();
        const { key } = this;
        if (this.#isAdmitted && key !== undefined && isRunnelError(error, "Invalid", "TooLarge"))
          deps.cutOffs.failed(textOf(key));
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

  /** @throws Denied with what the last drive says of it; Busy, and closes, when too many were none. */
  #offerFor(ticket: Uint8Array): { offer: Offer; good: Ticket } {
    let why: unknown;
    for (const offer of this.#deps.offers()) {
      // The ticket of a drive that rests may be a good one.
      if (!offer.isOpen) continue;
      try {
        return { offer, good: offer.ticketFor(ticket, this.key) };
      } catch (error) {
        why = error;
      }
    }
    if (why === undefined) throw ticketDenied("Nothing is given away here now.");
    const { failedTickets, link } = this.#deps;
    const retryAfterMs = failedTickets.waitMs(link.remoteAddress);
    failedTickets.failed(link.remoteAddress);
    if (retryAfterMs > 0) throw this.#closeBusy("Too many tickets of this address were none.", retryAfterMs);
    throw why;
  }

  #closeBusy(sentence: string, retryAfterMs: number): RunnelError {
    const error = new RunnelError("Busy", "getChunks", sentence, { detail: { retryAfterMs } });
    this.close(error);
    return error;
  }

  /** @throws Busy, and closes, when connections of its key were closed too often for what they said. */
  #admit(): void {
    if (this.#isAdmitted) return;
    const retryAfterMs = this.key === undefined ? 0 : this.#deps.cutOffs.waitMs(textOf(this.key));
    if (retryAfterMs > 0) throw this.#closeBusy("This device said too often what no colleague may say.", retryAfterMs);
    this.#isAdmitted = true;
    this.#grace[Symbol.dispose]();
    this.#deps.link.limit(undefined);
    this.#deps.admitted();
    this.#connection.admit();
  }
}
