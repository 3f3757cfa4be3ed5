// Two connections over a simulated line, what their owners hear and what went over it.
import type { RunnelError } from "../../src/errors.ts";
import type { Link, LinkEvents } from "../../src/host/link.ts";
import { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { SimulatedLink } from "../../src/host/simulated/simulated-link.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import { Connection, type ConnectionSettings } from "../../src/protocol/connection.ts";
import type { Frame, FrameKind } from "../../src/protocol/frame.ts";
import { decodeFrame, encodeFrame } from "../../src/protocol/frame.ts";
import { zlibExecutor } from "./zlib-executor.ts";

export interface Opened {
  channel: Channel;
  operation: string;
  request: unknown;
}

export type Bounds = Pick<ConnectionSettings, "mayHold" | "mayHoldBulk" | "takesBulk" | "turns">;

type Handle = (opened: Opened) => void | Promise<void>;

/** A link that keeps what it sent and how it ended. */
export class WatchedLink implements Link {
  readonly sent: { atMs: number; bytes: Uint8Array }[] = [];
  readonly closings: { code: number; reason: string }[] = [];
  readonly #link: SimulatedLink;
  readonly #clock: SimulatedClock;

  constructor(link: SimulatedLink, clock: SimulatedClock) {
    this.#link = link;
    this.#clock = clock;
  }

  listen(events: LinkEvents): void {
    this.#link.listen({
      message: (payload) => events.message(payload),
      closed: (code, reason) => {
        this.closings.push({ code, reason });
        events.closed(code, reason);
      },
    });
  }

  limit(bytes: number | undefined): void {
    this.#link.limit(bytes);
  }

  get remoteAddress(): string {
    return this.#link.remoteAddress;
  }

  send(payload: Uint8Array): void {
    this.sent.push({ atMs: this.#clock.bootMs(), bytes: payload });
    this.#link.send(payload);
  }

  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void {
    this.send(Buffer.concat([head, body]));
    gone();
  }

  close(code: number, reason: string): void {
    this.#link.close(code, reason);
  }

  cut(): void {
    this.#link.cut();
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes;
  }

  get sentBytes(): number {
    return this.#link.sentBytes;
  }

  get receivedBytes(): number {
    return this.#link.receivedBytes;
  }
}

export class End {
  readonly connection: Connection;
  readonly link: WatchedLink;
  readonly opened: Opened[] = [];
  readonly closings: RunnelError[] = [];

  constructor(
    link: SimulatedLink,
    clock: SimulatedClock,
    isClient: boolean,
    turns: number,
    handle: Handle,
    bounds: Bounds = {},
  ) {
    this.link = new WatchedLink(link, clock);
    this.connection = new Connection({
      link: this.link,
      isClient,
      clock,
      executor: zlibExecutor(turns),
      ...bounds,
      opened: (channel, operation, request) => {
        const opened = { channel, operation, request };
        this.opened.push(opened);
        return handle(opened);
      },
      closed: (error) => void this.closings.push(error),
    });
  }

  /** Frames that left this end. */
  get frames(): Frame[] {
    return this.link.sent.map(({ bytes }) => decodeFrame(bytes));
  }
}

export interface Connected {
  clock: SimulatedClock;
  client: End;
  server: End;
}

/** `turns`: how long (de)compression takes. */
export function connected(
  options: { bytesPerSecond?: number; delayMs?: number; turns?: number; serve?: Handle; bounds?: Bounds } = {},
): Connected {
  const clock = new SimulatedClock();
  const { bytesPerSecond = Infinity, delayMs = 0, turns = 1 } = options;
  const line = { delayMs, jitterMs: 0, bytesPerSecond, isBlackHole: false };
  const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), line);
  const client = new End(left, clock, true, turns, () => {});
  const server = new End(right, clock, false, turns, options.serve ?? (() => {}), options.bounds);
  return { clock, client, server };
}

export interface RawPeer {
  clock: SimulatedClock;
  /** Link of the peer, which heard the frames of the connection under test, and how it was closed. */
  link: WatchedLink;
  heard: Frame[];
  server: End;
  say(kind: FrameKind, channel: number, payload: Uint8Array, isCompressed?: boolean): void;
}

/** A server's connection whose peer is the test itself, frame by frame. */
export function rawPeer(serve: Handle = () => {}, bounds?: Bounds): RawPeer {
  const clock = new SimulatedClock();
  const line = { delayMs: 0, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
  const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), line);
  const server = new End(right, clock, false, 1, serve, bounds);
  const link = new WatchedLink(left, clock);
  const heard: Frame[] = [];
  link.listen({ message: (payload) => void heard.push(decodeFrame(payload)), closed: () => {} });
  return {
    clock,
    link,
    heard,
    server,
    say: (kind, channel, payload, isCompressed = false) =>
      link.send(encodeFrame({ kind, channel, isCompressed, payload })),
  };
}

/** Lets everything happen that needs no time. */
export async function quiet({ clock }: { clock: SimulatedClock }, turns = 12): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await clock.advance(0);
}

/** State of a promise: its kind of error, "waits", or what it resolved to. */
export async function outcome(pair: Connected, promise: Promise<unknown>): Promise<unknown> {
  let found: unknown = "waits";
  promise.then(
    (value) => {
      found = value instanceof Uint8Array ? [...value] : value;
    },
    (error: unknown) => {
      found = (error as { kind?: unknown }).kind ?? String(error);
    },
  );
  await quiet(pair);
  return found;
}

/** A channel opened by the client, with the server's end of it. */
export async function channelPair(pair: Connected, isCall = false): Promise<{ ours: Channel; theirs: Channel }> {
  const ours = isCall ? pair.client.connection.ask("test", null) : pair.client.connection.open("test", null);
  await quiet(pair, 2);
  const theirs = pair.server.opened.at(-1)?.channel;
  if (theirs === undefined) throw new Error("the channel did not open");
  return { ours, theirs };
}
