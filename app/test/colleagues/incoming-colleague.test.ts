// Bounds of what those who come to a device may cost it, by a simulated clock and simulated lines: how long they may
// say nothing, how many they may be, and how often they may show what is no ticket.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  Connection,
  LIMITS,
  type Link,
  PROTOCOL_VERSION,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedLink,
  TIMING,
  TicketKey,
  encodeFrame,
  FRAME,
  wallMs,
} from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import { ColleagueDoor } from "../../src/agent/colleagues/door.ts";
import { Offer } from "../../src/agent/colleagues/offer.ts";
import { UploadLimit } from "../../src/agent/colleagues/upload-limit.ts";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { CacheMachine } from "../cache/cache-machine.ts";

const EPOCH = "e".repeat(32);
const HOME = "10.0.0.1";
const LINE = { delayMs: 1, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
/** A question and its answer. */
const ANSWER_MS = 10;
const executor = inlineExecutor();
const random = new SeededRandom(1);

let clock: SimulatedClock;
let machine: CacheMachine;
let cache: Cache;
let offer: Offer;
let isPaused: boolean;
let ticketKey: TicketKey;
let door: ColleagueDoor;
let accept: (link: Link) => void;
/** Codes with which the device has closed connections. */
let closedWith: number[];

beforeEach(async () => {
  clock = new SimulatedClock();
  machine = new CacheMachine();
  cache = await machine.open();
  isPaused = false;
  closedWith = [];
  offer = new Offer({
    cache,
    clock,
    executor,
    limit: new UploadLimit(clock, () => undefined),
    isOpen: () => !isPaused,
    isPaused: () => false,
  });
  ticketKey = new TicketKey();
  offer.trust(EPOCH, ticketKey.publicKey, wallMs(clock));
  door = new ColleagueDoor({
    clock,
    executor,
    software: "test",
    identity: async () => ({ key: "", certificate: "" }),
    acceptor: () => ({
      listen: async (_host, _port, accepted) => {
        accept = accepted;
        return { port: 1, close: async () => undefined };
      },
    }),
  });
  await door.open(offer);
});

afterEach(async () => {
  await door.close(offer);
  await cache.close();
  machine.clean();
});

const keyOf = (device: number): Uint8Array => new Uint8Array(Buffer.alloc(32, `device ${device} `));

/** Ticket of a device. */
function ticketOf(device: number, signedBy = ticketKey): Uint8Array {
  const untilMs = wallMs(clock) + TIMING.ticketMs;
  return signedBy.sign({ epoch: EPOCH, version: { node: 7, seq: 1 }, key: keyOf(device), untilMs });
}

/** Returns the end of a line that a device has at an address. */
function dial(device: number, address: string): SimulatedLink {
  const [dialing, accepting] = SimulatedLink.pair(clock, random, LINE);
  const close = (code: number, reason: string): void => {
    closedWith.push(code);
    SimulatedLink.prototype.close.call(accepting, code, reason);
  };
  const facts = { remoteAddress: address, peerKey: keyOf(device), close };
  for (const [name, value] of Object.entries(facts)) Object.defineProperty(accepting, name, { value });
  accept(accepting);
  return dialing;
}

/** Says nothing on a connection. Returns what tells the code that it was closed with. */
function silence(device: number, address = HOME): () => number | undefined {
  let code: number | undefined;
  dial(device, address).listen({ message: () => undefined, closed: (said) => (code = said) });
  return () => code;
}

class Caller {
  readonly connection: Connection;
  isClosed = false;

  constructor(device: number, address = HOME) {
    this.connection = new Connection({
      link: dial(device, address),
      isClient: true,
      clock,
      executor,
      opened: () => undefined,
      closed: () => (this.isClosed = true),
    });
    this.connection.call("hello", { protocol: PROTOCOL_VERSION, software: "test" }).catch(() => undefined);
  }

  /** Shows a ticket. @returns "taken", "closed", or the kind of error that it is refused with. */
  async show(ticket: Uint8Array): Promise<string> {
    const answer = this.connection
      .ask("getChunks", { ticket, wanted: [[0, 1]] })
      .result()
      .then(
        () => "taken",
        (error: unknown) => (this.isClosed ? "closed" : error instanceof RunnelError ? error.kind : "another error"),
      );
    await clock.advance(ANSWER_MS);
    return answer;
  }
}

describe("whoever shows no ticket", () => {
  test("[W73] [W198] is closed after 15 s, whatever it says; whoever has shown one is not", async () => {
    const silentCode = silence(1);
    const [greeting, good] = [new Caller(2), new Caller(3)];
    expect(await good.show(ticketOf(3))).toBe("taken");
    const left = TIMING.loginGraceMs - ANSWER_MS - 2 * LINE.delayMs;
    await clock.advance(left);
    expect(await greeting.show(new Uint8Array(10))).toBe("Denied");
    await clock.advance(ANSWER_MS);
    expect(silentCode()).toBe(4006);
    expect(greeting.isClosed).toBe(true);
    await clock.advance(10 * TIMING.loginGraceMs);
    expect(await good.show(ticketOf(3))).toBe("taken");
  });

  test("[limit colleagueConnections] [W198] is one of 64 of all addresses, and locks nobody out", async () => {
    const silent = Array.from({ length: 4 * LIMITS.colleagueConnections }, (_, number) =>
      silence(1, `10.0.${number}.1`),
    );
    await clock.advance(ANSWER_MS);
    const codes = silent.map((codeOf) => codeOf()).filter((code) => code !== undefined);
    expect(codes).toEqual(Array.from({ length: 3 * LIMITS.colleagueConnections }, () => 4005));
    expect(await new Caller(2).show(ticketOf(2))).toBe("taken");
  });

  test("[W212] [limit failedTickets] [limit ticketRefillMs] may show ten that are none at once, and one more for each six seconds", async () => {
    const strange = new TicketKey();
    const bad = (): Promise<string> => new Caller(1).show(ticketOf(1, strange));
    for (let count = 0; count < LIMITS.failedTickets; count++) expect(await bad()).toBe("Denied");
    const caller = new Caller(1);
    expect(await caller.show(ticketOf(1, strange))).toBe("closed");
    expect(closedWith).toEqual([4005]);
    // All kinds of them count: of another device, of no form, of another life of the volume.
    const { publicKey } = ticketKey;
    expect(await new Caller(1).show(ticketOf(2))).toBe("closed");
    expect(await new Caller(1).show(publicKey)).toBe("closed");
    // Other addresses are not hindered, and of this one those whose ticket is good.
    expect(await new Caller(1, "10.0.0.2").show(ticketOf(1, strange))).toBe("Denied");
    expect(await new Caller(2).show(ticketOf(2))).toBe("taken");
    await clock.advance((LIMITS.failedTickets + 3) * TIMING.ticketRefillMs);
    expect(await bad()).toBe("Denied");
  });

  test("[W212] is counted by the /64 of IPv6, over many connections or one", async () => {
    const strange = ticketOf(1, new TicketKey());
    const caller = new Caller(1, "2001:db8::1");
    for (let count = 0; count < LIMITS.failedTickets; count++) expect(await caller.show(strange)).toBe("Denied");
    expect(await new Caller(1, "2001:db8::2").show(strange)).toBe("closed");
    expect(await new Caller(1, "2001:db8:0:1::1").show(strange)).toBe("Denied");
    expect(caller.isClosed).toBe(false);
    expect(await caller.show(strange)).toBe("closed");
    expect(closedWith).toEqual([4005, 4005]);
  });

  test("[W212] has no ticket counted while nothing is given away", async () => {
    isPaused = true;
    const caller = new Caller(1);
    for (let count = 0; count < 2 * LIMITS.failedTickets; count++)
      expect(await caller.show(ticketOf(1))).toBe("Denied");
    isPaused = false;
    expect(await caller.show(ticketOf(1, new TicketKey()))).toBe("Denied");
    expect(await caller.show(ticketOf(1))).toBe("taken");
  });
});

describe("whoever has shown a ticket", () => {
  test("[limit admittedColleagueConnections] [W198] is one of 256: the oldest goes", async () => {
    const callers: Caller[] = [];
    for (let count = 0; count <= LIMITS.admittedColleagueConnections; count++) {
      const caller = new Caller(count);
      expect(await caller.show(ticketOf(count))).toBe("taken");
      callers.push(caller);
    }
    expect(callers.filter(({ isClosed }) => isClosed)).toEqual(callers.slice(0, 1));
    expect(closedWith).toEqual([4005]);
  });

  test("[W212] [limit cutOffs] may be closed 16 times at once for what it says, and then waits six seconds", async () => {
    const offend = async (device: number): Promise<string> => {
      const caller = new Caller(device);
      const taken = await caller.show(ticketOf(device));
      // The first channel that a client opens is not number 2.
      caller.connection.link.send(
        encodeFrame({ kind: FRAME.open, channel: 2, isCompressed: false, payload: new Uint8Array(1) }),
      );
      await clock.advance(ANSWER_MS);
      expect(caller.isClosed).toBe(true);
      return taken;
    };
    for (let count = 0; count < LIMITS.cutOffs; count++) expect(await offend(1)).toBe("taken");
    expect(new Set(closedWith)).toEqual(new Set([4001]));
    expect(await new Caller(1).show(ticketOf(1))).toBe("closed");
    expect(closedWith.at(-1)).toBe(4005);
    expect(await new Caller(2).show(ticketOf(2))).toBe("taken");
    await clock.advance(TIMING.cutOffRefillMs);
    expect(await new Caller(1).show(ticketOf(1))).toBe("taken");
  });
});
