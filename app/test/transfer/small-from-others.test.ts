// Small files of a walk from other sources than the server: what comes of them, and when they are not asked.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import {
  type Channel,
  Connection,
  type NodeState,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedLink,
  encodeRecipe,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { SmallFromOthers } from "../../src/agent/transfer/small-from-others.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import { makeTransfers } from "../view/make-transfers.ts";

const SIZE_BYTES = 3_000;
const FILES = 20;
const executor = inlineExecutor();

let machine: CacheMachine;
let cache: Cache;
let clock: SimulatedClock;
let client: Connection;
let requests: { channel: Channel; versions: [number, number][]; recipesOnly?: boolean }[];
/** Nodes that others have. */
let others: Set<number>;
let features: string[];
let mayHave: (bytes: number) => boolean;

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
  clock = new SimulatedClock();
  [requests, others, features, mayHave] = [[], new Set(), ["recipes-only"], () => true];
  const line = { delayMs: 5, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
  const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), line);
  const parts = { clock, executor, closed: () => undefined };
  client = new Connection({ ...parts, link: left, isClient: true, opened: () => undefined });
  void new Connection({
    ...parts,
    link: right,
    isClient: false,
    opened: (channel, _operation, request) => void requests.push({ channel, ...(request as { versions: [] }) }),
  });
});

afterEach(async () => {
  await cache.close();
  machine.clean();
});

const contentOf = (node: number): Uint8Array => new SeededRandom(node).bytes(SIZE_BYTES);
const states = Array.from({ length: FILES }, (_, index) => ({ node: index + 2, version: 1, sizeBytes: SIZE_BYTES }));

function make(): SmallFromOthers {
  return new SmallFromOthers({
    cache,
    session: {
      get features() {
        return features;
      },
      open: (name, body) => client.ask(name, body),
      whileAlive: (answer) => answer,
    },
    executor,
    sources: { mayHave: (bytes) => mayHave(bytes) },
    downloads: {
      bringFromOthers: async (content: CachedContent) => {
        if (others.has(content.version.node)) await cache.write(content, 0, contentOf(content.version.node));
      },
    },
  });
}

interface Outcome {
  came: number[];
  failure?: unknown;
}

/** Begins; the answer is to be played by the test. */
function begin(small: SmallFromOthers, signal = new AbortController().signal): Promise<Outcome> {
  const came: number[] = [];
  const transfer = makeTransfers(clock).begin({ direction: "down", file: 1, totalBytes: 1, isRead: true });
  const how = { isWaitedFor: true, transfer, signal, came: ({ node }: NodeState) => void came.push(node) };
  return small.bring(states as NodeState[], how).then(
    () => ({ came }),
    (failure: unknown) => ({ came, failure }),
  );
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await clock.advance(1);
}

async function recipesOf(nodes: readonly number[]): Promise<[number, Uint8Array][]> {
  const all: [number, Uint8Array][] = [];
  for (const node of nodes) all.push([node - 2, encodeRecipe(await executor.chunkBytes(contentOf(node)))]);
  return all;
}

/** A whole stream, answered as the server does. */
async function bring(small: SmallFromOthers): Promise<Outcome> {
  const before = requests.length;
  const outcome = begin(small);
  await settled();
  const request = requests[before];
  if (request !== undefined) {
    expect(request.recipesOnly).toBe(true);
    request.channel.send(["g", await recipesOf(request.versions.map(([node]) => node)), "raw", 0, 0]);
    request.channel.end();
    await settled();
  }
  return outcome;
}

describe("small files from others", () => {
  test("are those that they have whole; the recipes of all come in one stream", async () => {
    others = new Set([3, 5, 21]);
    const { came, failure } = await bring(make());
    expect([failure, came.toSorted((one, other) => one - other)]).toEqual([undefined, [3, 5, 21]]);
    expect(requests).toHaveLength(1);
    const content = cache.find({ node: 5, seq: 1 });
    expect(content?.recipe).toBeDefined();
    expect(content && Buffer.compare(await cache.read(content, 0, SIZE_BYTES), contentOf(5))).toBe(0);
  });

  test("are not looked for without others, or with a server that tells no recipes alone", async () => {
    const small = make();
    mayHave = (bytes) => bytes > SIZE_BYTES;
    expect((await bring(small)).came).toEqual([]);
    [mayHave, features] = [() => true, []];
    expect((await bring(small)).came).toEqual([]);
    expect(requests).toEqual([]);
  });

  test("are left alone for eight streams where others had less than an eighth of them", async () => {
    const small = make();
    others = new Set([3, 4]);
    await bring(small);
    for (let streams = 0; streams < 8; streams++) await bring(small);
    expect(requests).toHaveLength(1);
    others = new Set([3, 4, 5]);
    await bring(small);
    await bring(small);
    expect(requests).toHaveLength(3);
  });

  test("are looked for again after a stream without recipes, which shows nothing of what others have", async () => {
    const small = make();
    others = new Set([3, 4]);
    for (let streams = 0; streams < 2; streams++) {
      const outcome = begin(small);
      await settled();
      requests.at(-1)?.channel.end();
      await settled();
      expect((await outcome).came).toEqual([]);
    }
    expect(requests).toHaveLength(2);
  });

  test("end with a stream that is not what was asked for, or that nobody wants any more", async () => {
    const small = make();
    const lies: unknown[] = [
      ["g", await recipesOf([3]), "raw", 1, 1],
      ["g", [[FILES, (await recipesOf([3]))[0]?.[1]]], "raw", 0, 0],
      ["g", [[0, encodeRecipe(await executor.chunkBytes(new Uint8Array(5)))]], "raw", 0, 0],
      ["d", 0, 1],
    ];
    for (const lie of lies) {
      const outcome = begin(small);
      await settled();
      requests.at(-1)?.channel.send(lie);
      await settled();
      expect(await outcome).toMatchObject({ came: [], failure: { kind: "Invalid" } });
      expect(requests.at(-1)?.channel.abort.signal.aborted).toBe(true);
    }
    const over = new AbortController();
    const outcome = begin(small, over.signal);
    await settled();
    over.abort(new RunnelError("Interrupted", "findGet", "It is paused."));
    await settled();
    expect(await outcome).toMatchObject({ failure: { kind: "Interrupted" } });
  });
});
