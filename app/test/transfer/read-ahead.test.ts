// Files that come before they are asked for, from a server that the test plays: what is kept, who waits, and what a
// wrong stream does.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { Connection, RunnelError, SeededRandom, SimulatedClock, SimulatedLink, encodeRecipe } from "@runnel/shared";
import type { Channel, NodeState } from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { ReadAhead } from "../../src/agent/transfer/read-ahead.ts";
import { makeTransfers } from "../view/make-transfers.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const FILES = 12;
const executor = inlineExecutor();

let machine: CacheMachine;
let cache: Cache;
let clock: SimulatedClock;
let client: Connection;
let streams: { channel: Channel; versions: [number, number][] }[];
let refuses: RunnelError | undefined;
let ahead: ReadAhead;
let states: NodeState[];
let logged: unknown[];

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
  clock = new SimulatedClock();
  streams = [];
  logged = [];
  refuses = undefined;
  const line = { delayMs: 5, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
  const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), line);
  const parts = { clock, executor, closed: () => undefined };
  client = new Connection({ ...parts, link: left, isClient: true, opened: () => undefined });
  void new Connection({
    ...parts,
    link: right,
    isClient: false,
    opened: (channel, _operation, request) => {
      if (refuses !== undefined) throw refuses;
      streams.push({ channel, versions: (request as { versions: [number, number][] }).versions });
    },
  });
  const replica = openReplica(":memory:");
  replica.reset("epoch", stateOf(1, "folder"));
  states = Array.from({ length: FILES }, (_, index) => stateOf(index + 2, "file"));
  const entries = states.map((state, index) => ({ name: `file ${String(index).padStart(2, "0")}`, state }));
  replica.putListing(1, 1, entries, true);
  ahead = new ReadAhead({
    cache,
    session: {
      isResponsive: true,
      open: (name, body) => client.ask(name, body),
      whileAlive: (answer) => answer,
    },
    executor,
    transfers: makeTransfers(clock),
    clock,
    names: replica,
    pauses: nothingPaused,
    others: { bring: async () => undefined },
    aheadBytesMax: 1_000_000,
    log: (_message, error) => void logged.push(error),
  });
});

afterEach(async () => {
  ahead.close();
  await settled();
  await cache.close();
  machine.clean();
});

function stateOf(node: number, type: "file" | "folder"): NodeState {
  const times = { mtimeNs: 5n, ctimeNs: 5n };
  const sizeBytes = type === "file" ? contentOf(node).length : 0;
  return {
    node,
    type,
    sizeBytes,
    ...times,
    mode: 0o644,
    uid: 0,
    gid: 0,
    nlink: 1,
    rdev: 0,
    target: "",
    version: 1,
    seq: 1,
  };
}

function contentOf(node: number): Uint8Array {
  return Uint8Array.from({ length: 3000 + node }, (_, index) => (index * node) % 251);
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await clock.advance(1);
}

async function send(channel: Channel, files: readonly [index: number, node: number][], spoil = 0): Promise<void> {
  const contents = files.map(([, node]) => contentOf(node));
  const named: unknown[] = [];
  for (const [position, [index]] of files.entries())
    named.push([index, encodeRecipe(await executor.chunkBytes(contents[position] ?? new Uint8Array()))]);
  const bytes = Buffer.concat(contents);
  bytes[0] = (bytes[0] ?? 0) ^ spoil;
  channel.send(["g", named, "raw", bytes.length, bytes.length]);
  channel.sendBulk(bytes).catch(() => undefined);
}

async function begin(): Promise<{ channel: Channel; versions: [number, number][] }> {
  for (const state of states.slice(0, 2)) ahead.opened(state);
  await settled();
  const [stream] = streams;
  if (stream === undefined) throw new Error("Nothing was asked for.");
  return stream;
}

function isWhole({ node, sizeBytes }: NodeState): boolean {
  const content = cache.find({ node, seq: 1 });
  return content !== undefined && cache.missing(content, { offset: 0, length: sizeBytes }).length === 0;
}

describe("files ahead", () => {
  test("are asked for once, in order, and are in the cache when they have come", async () => {
    const { channel, versions } = await begin();
    expect(versions.map(([node]) => node)).toEqual([...states.slice(2), states[0]].map((state) => state?.node));
    await send(
      channel,
      versions.map(([node], index) => [index, node]),
    );
    channel.end();
    await settled();
    expect(states.slice(2).every(isWhole)).toBe(true);
    const content = cache.find({ node: 5, seq: 1 });
    expect(content?.recipe).toBeDefined();
    expect(content && Buffer.compare(await cache.read(content, 0, content.sizeBytes), contentOf(5))).toBe(0);
    for (const state of states.slice(2)) ahead.opened(state);
    await settled();
    expect(streams).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  test("are waited for by whoever opens one that comes soon; by nobody when the stream ends without it", async () => {
    const { channel, versions } = await begin();
    const { content } = await cache.create({ node: 3 + 1, seq: 1 }, states[2]?.sizeBytes ?? 0);
    let waits = "waits";
    void ahead.arrived(content).then(() => (waits = isWhole(states[2] as NodeState) ? "came" : "did not come"));
    await settled();
    expect(waits).toBe("waits");
    await send(channel, [[0, versions[0]?.[0] ?? 0]]);
    await settled();
    expect(waits).toBe("came");
    const { content: other } = await cache.create({ node: 6, seq: 1 }, states[4]?.sizeBytes ?? 0);
    const waiting = ahead.arrived(other);
    channel.end();
    await settled();
    await waiting;
    expect(isWhole(states[4] as NodeState)).toBe(false);
  });

  test.each([
    ["bytes that are not what the recipe says", (channel: Channel) => send(channel, [[0, 4]], 1), "Corrupt"],
    ["a file that was not asked for", (channel: Channel) => send(channel, [[FILES, 4]]), "Invalid"],
    ["another file's content", (channel: Channel) => send(channel, [[0, 5]]), "Invalid"],
    ["something else", async (channel: Channel) => channel.send(["d", 0, 1]), "Invalid"],
  ])("are not kept when the server sends %s, and nobody waits any longer", async (_name, lie, kind) => {
    const { channel } = await begin();
    const { content } = await cache.create({ node: 4, seq: 1 }, states[2]?.sizeBytes ?? 0);
    const waiting = ahead.arrived(content);
    await lie(channel);
    await settled();
    await waiting;
    expect(states.slice(2).some(isWhole)).toBe(false);
    expect(logged).toMatchObject([{ kind }]);
    expect(channel.abort.signal.aborted).toBe(true);
  });

  test("are given up when nobody opens one for a while", async () => {
    const { channel } = await begin();
    expect(channel.abort.signal.aborted).toBe(false);
    await clock.advance(5_000);
    await settled();
    expect(channel.abort.signal.aborted).toBe(true);
    expect(logged).toEqual([]);
  });

  test("are not asked for again from a server that does not know how", async () => {
    refuses = new RunnelError("Unsupported", "findGet", "This server does not know the operation.");
    for (const state of states.slice(0, 2)) ahead.opened(state);
    await settled();
    refuses = undefined;
    for (const state of states.slice(4)) ahead.opened(state);
    await settled();
    expect(streams).toEqual([]);
    expect(logged).toEqual([]);
  });
});
