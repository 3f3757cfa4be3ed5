// Clients are told to have what of whom: announce, locate, and what a client hears of the others.
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type ChunkSpan,
  LIMITS,
  type Recipe,
  SimulatedClock,
  TIMING,
  checkRequest,
  openTicket,
  spansFrom,
  wallMs,
} from "@runnel/shared";
import { Colleagues } from "../../src/colleagues/colleagues.ts";
import { isSameNetwork } from "../../src/colleagues/networks.ts";

const CHUNKS = 4000;
const CHUNK_BYTES = 1024;
const VERSION = { node: 5, seq: 7 };
const recipe: Recipe = {
  lengths: new Uint32Array(CHUNKS).fill(CHUNK_BYTES),
  digests: new Uint8Array(CHUNKS * 32),
};
const ALL = [{ from: 0, count: CHUNKS }];

type Said = Awaited<ReturnType<Colleagues["locate"]>>;

let clock: SimulatedClock;
let colleagues: Colleagues;

beforeEach(() => {
  clock = new SimulatedClock();
  colleagues = new Colleagues({
    clock,
    epoch: "e",
    recipe: async ({ node }) => (node === VERSION.node ? recipe : undefined),
  });
});

/** A client as the server has it. */
class Client {
  readonly key: Uint8Array;
  readonly address: string;
  readonly device: string;
  readonly shut: Uint8Array[] = [];
  readonly heard: boolean[] = [];
  readonly #seen = new Map<number, string>();

  constructor(number: number, address = "10.0.0.1", device = `device ${number}`) {
    this.key = new Uint8Array(32).fill(number);
    this.address = address;
    this.device = device;
  }

  shutOut(key: Uint8Array): void {
    this.shut.push(key);
  }

  colleagues(areThere: boolean): void {
    this.heard.push(areThere);
  }

  announce(has: readonly ChunkSpan[] = [], { port = 7000, reach = "network" as "network" | "everyone" } = {}) {
    const place = { key: this.key, port, addresses: ["192.168.1.2"], reach };
    return this.say(has, place);
  }

  say(has: readonly ChunkSpan[], place?: Parameters<Colleagues["announce"]>[2]["place"], version = VERSION) {
    const facts = { device: this.device, name: this.device, address: this.address };
    return colleagues.announce(this, facts, { attachment: 3, has: [[version, [...has]]], ...(place && { place }) });
  }

  async locate(
    wanted: readonly ChunkSpan[] = ALL,
    { waitMs = 0, without = [] as Uint8Array[], hasTicket = false, version = VERSION } = {},
    signal = new AbortController().signal,
  ): Promise<Said & { of: Record<string, ChunkSpan[]> }> {
    const request = { attachment: 3, version, wanted: [...wanted], without, hasTicket, waitMs };
    const said = await colleagues.locate(this, request, signal);
    for (const { member, name } of said.colleagues) this.#seen.set(Number(member), name);
    const of = Object.fromEntries(
      said.hints.map(([member, has]) => [this.#seen.get(Number(member)) ?? "?", spans(has)]),
    );
    return { ...said, of };
  }
}

function spans(packed: readonly (readonly [number | bigint, number | bigint])[]): ChunkSpan[] {
  return spansFrom(packed.map(([from, count]) => ({ from: Number(from), count: Number(count) })));
}

describe("what a client is told to take from whom", () => {
  test("[W195] alone, or without having said where it is, it takes all from the server", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    expect(await one.locate()).toEqual({ colleagues: [], hints: [], yours: [[0, CHUNKS]], of: {} });
    expect(one.announce()).toMatchObject({ others: 0 });
    expect(await one.locate()).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
    two.announce(ALL, { port: 0 });
    expect(await one.locate()).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
  });

  test("[W194] [W195] it has from another one what that one said last to have", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce([{ from: 0, count: 10 }]);
    two.say([{ from: 100, count: 10 }]);
    const said = await one.locate([{ from: 0, count: 200 }]);
    expect(said.of).toEqual({ "device 2": [{ from: 100, count: 10 }] });
    expect(spans(said.yours)).toEqual([
      { from: 0, count: 100 },
      { from: 110, count: 90 },
    ]);
    expect(said.colleagues).toEqual([
      {
        member: said.hints[0]?.[0],
        name: "device 2",
        key: two.key,
        port: 7000,
        addresses: ["10.0.0.1", "192.168.1.2"],
      },
    ]);
    two.say([]);
    expect((await one.locate([{ from: 100, count: 10 }])).of).toEqual({});
  });

  test("[W195] who a colleague is is told once, and again when it is elsewhere", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(ALL);
    expect((await one.locate()).colleagues).toHaveLength(1);
    expect((await one.locate()).colleagues).toHaveLength(0);
    two.announce(ALL, { port: 7001 });
    expect((await one.locate()).colleagues).toMatchObject([{ port: 7001 }]);
  });

  test("[W195] each of those who read the same takes another part of it, and no part is taken twice", async () => {
    const all = Array.from({ length: 10 }, (_, number) => new Client(number + 1));
    for (const one of all) one.announce();
    // From now on all are known to read.
    for (const one of all) await one.locate([]);
    const taken: ChunkSpan[] = [];
    for (const one of all) taken.push(...spans((await one.locate()).yours));
    const ordered = taken.toSorted((a, b) => a.from - b.from);
    for (const [at, { from }] of ordered.entries()) {
      const before = ordered[at - 1];
      if (before !== undefined) expect(from).toBeGreaterThanOrEqual(before.from + before.count);
    }
    const bytes = taken.map(({ count }) => count * CHUNK_BYTES);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(1024 * 1024);
    expect(Math.min(...bytes)).toBeGreaterThanOrEqual(128 * 1024);
  });

  test("[W195] what one is being sent the others wait for, and have of it then", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce();
    using sending = colleagues.sending(one, VERSION, [{ from: 0, count: 50 }]);
    sending?.upTo(50);
    const waiting = two.locate([{ from: 0, count: 50 }], { waitMs: 2_000 });
    await clock.advance(100);
    one.say([{ from: 0, count: 50 }]);
    await clock.advance(100);
    expect((await waiting).of).toEqual({ "device 1": [{ from: 0, count: 50 }] });
  });

  test("[W195] what was to be sent to one who does not fetch it, or leaves, is another one's after a while", async () => {
    const [one, two, three] = [new Client(1), new Client(2), new Client(3)];
    for (const each of [one, two, three]) each.announce();
    const part = [{ from: 0, count: 10 }];
    expect(spans((await one.locate(part)).yours)).toEqual(part);
    expect(spans((await two.locate(part)).yours)).toEqual([]);
    await clock.advance(6_000);
    expect(spans((await two.locate(part)).yours)).toEqual(part);
    expect(spans((await three.locate(part)).yours)).toEqual([]);
    colleagues.left(two);
    expect(spans((await three.locate(part)).yours)).toEqual(part);
  });

  test("[W195] a fetch that was given up leaves to others what it did not bring", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce();
    const sending = colleagues.sending(one, VERSION, [{ from: 0, count: 50 }]);
    sending?.upTo(20);
    sending?.[Symbol.dispose]();
    expect(spans((await two.locate([{ from: 0, count: 50 }])).yours)).toEqual([{ from: 20, count: 30 }]);
  });

  test("[W195] whom it leaves out is not told to it", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(ALL);
    expect(await one.locate(ALL, { without: [two.key] })).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
  });

  test("[W195] of a version without a recipe, and of chunks that it does not have, nothing is said", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(ALL);
    const other = { node: 6, seq: 1 };
    expect(await one.locate(ALL, { version: other })).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
    const beyond = await one.locate([{ from: CHUNKS - 1, count: 1_000_000 }]);
    expect(beyond.of).toEqual({ "device 2": [{ from: CHUNKS - 1, count: 1 }] });
  });

  test("[limit hints] [W195] no more than 16 are named, and two of each chunk", async () => {
    const one = new Client(1);
    one.announce();
    for (let number = 2; number < 30; number++) new Client(number).announce(ALL);
    expect(Object.keys((await one.locate()).of)).toHaveLength(2);
    const wanted: ChunkSpan[] = [];
    for (let number = 30; number < 60; number++) {
      wanted.push({ from: 2 * number, count: 1 });
      new Client(number, "10.0.9.1").announce([{ from: 2 * number, count: 1 }]);
    }
    const far = new Client(200, "10.0.9.2");
    far.announce();
    expect((await far.locate(wanted)).hints).toHaveLength(LIMITS.hints);
  });

  test("[limit chunkSpans] of more than 64 spans the longest are said", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(Array.from({ length: 100 }, (_, at) => ({ from: at * 10, count: at < 50 ? 1 : 2 })));
    const { of } = await one.locate();
    expect(of["device 2"]).toHaveLength(LIMITS.chunkSpans);
    expect(of["device 2"]?.filter(({ count }) => count === 2)).toHaveLength(50);
  });
});

describe("an answer that waits", () => {
  test("[W195] comes after waitMs with nothing", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce();
    await one.locate([{ from: 0, count: 10 }]);
    const waiting = two.locate([{ from: 0, count: 10 }], { waitMs: 1_000 });
    await clock.advance(1_001);
    expect(await waiting).toMatchObject({ hints: [], yours: [] });
  });

  test("[W195] ends with the request", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce();
    await one.locate([{ from: 0, count: 10 }]);
    const over = new AbortController();
    const waiting = two.locate([{ from: 0, count: 10 }], { waitMs: 1_000 }, over.signal);
    await clock.advance(10);
    over.abort();
    expect(await waiting).toMatchObject({ hints: [], yours: [] });
  });

  test("[W195] [limit locates] is one of 32 of an attachment: what is more is answered at once", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce();
    await one.locate([{ from: 0, count: 10 }]);
    const wait = () => two.locate([{ from: 0, count: 10 }], { waitMs: TIMING.locateWaitMs });
    const waiting = Array.from({ length: LIMITS.locates }, wait);
    await clock.advance(1);
    expect(await wait()).toMatchObject({ hints: [], yours: [] });
    await clock.advance(TIMING.locateWaitMs);
    await Promise.all(waiting);
  });
});

describe("a ticket", () => {
  test("[W197] [limit ticketMs] is for whoever asks, for the version, and for two minutes; who has one gets none", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    const { ticketKey } = one.announce();
    two.announce(ALL);
    const { ticket } = await one.locate();
    expect(openTicket(ticket ?? new Uint8Array(0), ticketKey)).toEqual({
      epoch: "e",
      version: VERSION,
      key: one.key,
      untilMs: wallMs(clock) + TIMING.ticketMs,
    });
    expect((await one.locate(ALL, { hasTicket: true })).ticket).toBeUndefined();
  });
});

describe("who may meet", () => {
  test.each([
    ["10.0.0.1", "10.0.0.200", true],
    ["10.0.0.1", "10.0.1.1", false],
    ["::ffff:10.0.0.1", "10.0.0.7", true],
    ["127.0.0.1", "::1", true],
    ["127.0.0.1", "10.0.0.1", false],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["fe80::1%eth0", "fe80::2%eth0", true],
    ["", "", false],
  ])("[W196] %s and %s are on one network: %s", (one, other, isSo) => {
    expect(isSameNetwork(one, other)).toBe(isSo);
  });

  test("[W196] are those of one network, and those of any who both want that", async () => {
    const [near, far] = [new Client(1, "10.0.0.1"), new Client(2, "10.0.1.1")];
    near.announce(ALL);
    far.announce();
    expect((await far.locate()).of).toEqual({});
    near.announce(ALL, { reach: "everyone" });
    expect((await far.locate()).of).toEqual({});
    far.announce([], { reach: "everyone" });
    expect((await far.locate()).of).toEqual({ "device 1": ALL });
  });

  test("[W200] hear of it when there come to be others, and when there are none any more", () => {
    const [one, two, three] = [new Client(1), new Client(2), new Client(3)];
    expect(one.announce()).toMatchObject({ others: 0 });
    expect(two.announce()).toMatchObject({ others: 1 });
    expect(three.announce([], { port: 0 })).toMatchObject({ others: 2 });
    expect([one.heard, two.heard, three.heard]).toEqual([[true], [], []]);
    colleagues.left(two);
    expect(one.heard).toEqual([true, false]);
    one.announce([], { port: 0 });
    expect(three.heard).toEqual([false]);
  });
});

describe("what is asked", () => {
  const version: [number, number] = [5, 7];
  const place = { key: new Uint8Array(32), port: 1, reach: "network" };
  const invalid = expect.objectContaining({ kind: "Invalid", detail: { rule: "W10" } });

  test("[limit announcedAtOnce] is 256 versions at the most", () => {
    const ask = (count: number) =>
      checkRequest("announce", { attachment: 3, has: Array.from({ length: count }, () => [version, []]) });
    expect(ask(LIMITS.announcedAtOnce).has).toHaveLength(256);
    expect(() => ask(LIMITS.announcedAtOnce + 1)).toThrow(invalid);
  });

  test("[W194] [limit colleagueAddresses] has 16 addresses at the most, and no names", () => {
    const ask = (addresses: string[]) =>
      checkRequest("announce", { attachment: 3, has: [], place: { ...place, addresses } }).place?.addresses;
    expect(ask(["10.0.0.1", "files.example.org", "::1"])).toEqual(["10.0.0.1", "::1"]);
    expect(() => ask(Array.from({ length: LIMITS.colleagueAddresses + 1 }, () => "10.0.0.1"))).toThrow(invalid);
  });

  test("[limit locateWaitMs] waits for two seconds at the most", () => {
    const ask = (waitMs: number) =>
      checkRequest("locate", { attachment: 3, version, wanted: [], without: [], hasTicket: false, waitMs });
    expect(ask(TIMING.locateWaitMs).waitMs).toBe(2_000);
    expect(() => ask(TIMING.locateWaitMs + 1)).toThrow(invalid);
  });
});

describe("what is remembered", () => {
  test("[W194] nothing of a client that has left", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(ALL);
    colleagues.left(two);
    expect(await one.locate()).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
  });

  test("[W194] nothing that was announced without a place", () => {
    const invalid = expect.objectContaining({ kind: "Invalid", detail: { rule: "W194" } });
    expect(() => new Client(1).say(ALL)).toThrow(invalid);
  });

  test("[W194] [limit announcedVersions] 1024 versions of a client, those that it said last", async () => {
    const [one, two] = [new Client(1), new Client(2)];
    one.announce();
    two.announce(ALL);
    for (let seq = 0; seq < LIMITS.announcedVersions; seq++) two.say(ALL, undefined, { node: 9, seq });
    expect((await one.locate()).of).toEqual({});
  });
});

test("[W194] [limit announcedSpans] of a client with more than 4096 spans the oldest versions are forgotten", async () => {
  const [one, two] = [new Client(1), new Client(2)];
  one.announce();
  two.announce(ALL);
  const many = Array.from({ length: LIMITS.chunkSpans }, (_, at) => ({ from: 2 * at, count: 1 }));
  for (let seq = 0; seq < LIMITS.announcedSpans / LIMITS.chunkSpans; seq++) two.say(many, undefined, { node: 9, seq });
  expect((await one.locate()).of).toEqual({});
});

test("[W194] [limit deviceAnnounces] a device announces itself on eight attachments", () => {
  const seats = Array.from({ length: LIMITS.deviceAnnounces + 1 }, (_, at) => new Client(at, "10.0.0.1", "device"));
  for (const one of seats.slice(1)) one.announce();
  expect(() => seats[0]?.announce()).toThrow(expect.objectContaining({ kind: "Busy" }));
  // The former place of one that has announced is not counted twice.
  seats[1]?.announce();
});

test("[W199] that a device has lost its right is told to the others, and it is not found any more", async () => {
  const [one, two, again] = [new Client(1), new Client(2), new Client(3, "10.0.0.1", "device 2")];
  one.announce();
  two.announce(ALL);
  again.announce(ALL);
  colleagues.shutOut("device 2");
  expect(one.shut).toEqual([two.key, again.key]);
  expect(two.shut).toEqual([]);
  expect(await one.locate()).toMatchObject({ hints: [], yours: [[0, CHUNKS]] });
});
