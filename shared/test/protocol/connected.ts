// Two connections over a line in memory, and what their owners hear.
import type { RunnelError } from "../../src/errors.ts";
import { SimulatedClock } from "../../src/host/simulated-clock.ts";
import { settle } from "../../src/host/simulated-clock.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import { Connection } from "../../src/protocol/connection.ts";
import type { Frame } from "../../src/protocol/frame.ts";
import { decodeFrame } from "../../src/protocol/frame.ts";
import type { PairedLink } from "./link-pair.ts";
import { linkPair } from "./link-pair.ts";
import { zlibExecutor } from "./zlib-executor.ts";

export interface Opened {
  channel: Channel;
  operation: string;
  request: unknown;
}

export class End {
  readonly connection: Connection;
  readonly link: PairedLink;
  readonly opened: Opened[] = [];
  readonly closings: RunnelError[] = [];

  constructor(link: PairedLink, clock: SimulatedClock, isClient: boolean, turns: number, handle: (opened: Opened) => void | Promise<void>) {
    this.link = link;
    this.connection = new Connection({
      link,
      isClient,
      clock,
      executor: zlibExecutor(turns),
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
    return this.link.carried.map(({ bytes }) => decodeFrame(bytes));
  }
}

export interface Connected {
  clock: SimulatedClock;
  client: End;
  server: End;
}

export function connected(
  options: { ratePerSecond?: number; delayMs?: number; turns?: number; serve?: (opened: Opened) => void | Promise<void> } = {},
): Connected {
  const clock = new SimulatedClock();
  const [left, right] = linkPair(clock, options.ratePerSecond, options.delayMs);
  const client = new End(left, clock, true, options.turns ?? 1, () => {});
  const server = new End(right, clock, false, options.turns ?? 1, options.serve ?? (() => {}));
  return { clock, client, server };
}

/** Lets everything that needs no time happen. */
export async function quiet(turns = 12): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await settle();
}

/** How a promise stands: its kind of error, "waits", or what it resolved to. */
export async function outcome(promise: Promise<unknown>): Promise<unknown> {
  let found: unknown = "waits";
  promise.then(
    (value) => {
      found = value instanceof Uint8Array ? [...value] : value;
    },
    (error: unknown) => {
      found = (error as { kind?: unknown }).kind ?? String(error);
    },
  );
  await quiet();
  return found;
}

/** A channel opened by the client, with the server's end of it. */
export async function channelPair(pair: Connected, isCall = false): Promise<{ ours: Channel; theirs: Channel }> {
  const ours = isCall ? pair.client.connection.ask("test", null) : pair.client.connection.open("test", null);
  await quiet(2);
  const theirs = pair.server.opened.at(-1)?.channel;
  if (theirs === undefined) throw new Error("the channel did not open");
  return { ours, theirs };
}
