// Subscriptions to files, and what becomes of the changes that then come with the feed; the server is played by the
// test.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import type { Change, Difference, Recipe, VersionId } from "@runnel/shared";
import {
  HeldChunks,
  LIMITS,
  RunnelError,
  SimulatedClock,
  TIMING,
  chunkOffsets,
  encodeRecipe,
  encodeRecipeDelta,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { Downloads } from "../../src/agent/transfer/download.ts";
import { Sources } from "../../src/agent/transfer/sources/sources.ts";
import { PushSubscriptions } from "../../src/agent/transfer/push-subscriptions.ts";
import type { Session } from "../../src/agent/wire/session.ts";
import { makeTransfers } from "../view/make-transfers.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const executor = inlineExecutor();
const OLD = noise(60_000);
const NEW = Uint8Array.from(OLD);
NEW.set(Buffer.from("changed"), 30_000);
const HELD: VersionId = { node: 5, seq: 7 };
const NEXT: VersionId = { node: 5, seq: 9 };

let machine: CacheMachine;
let cache: Cache;
let clock: SimulatedClock;
let downloads: Downloads;
let subscriptions: PushSubscriptions;
let said: (readonly [number, number])[][];
let isConnected: boolean;
let open: Set<number>;
let logged: unknown[];
let contentBytes: { sent: number; received: number };

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
  clock = new SimulatedClock();
  said = [];
  logged = [];
  contentBytes = { sent: 0, received: 0 };
  isConnected = true;
  open = new Set();
  const session = {
    isResponsive: false,
    silenceLeftMs: 0,
    recipeBytes: { sent: 0, received: 0 },
    contentBytes,
    // Nothing is to be asked for in these tests.
    mustRespond: () => {
      throw new RunnelError("Unreachable", "fetch", "The server is not asked.");
    },
    subscribe: (files: readonly (readonly [number, number])[]) => {
      if (isConnected) said.push([...files]);
      return isConnected;
    },
  } as unknown as Session;
  const reused = { base: 0, cache: 0, server: 0, bytes: 0 };
  const transfers = makeTransfers(clock);
  const sources = new Sources({
    clock: machine.clock,
    executor: machine.executor,
    lateMs: () => 2_000,
    dropped: () => undefined,
  });
  downloads = new Downloads({ cache, session, executor, reused, transfers, pauses: nothingPaused, sources });
  subscriptions = new PushSubscriptions({
    cache,
    downloads,
    session,
    clock,
    isOpen: (node) => open.has(node),
    log: (_message, error) => void logged.push(error),
  });
});

afterEach(async () => {
  subscriptions.close();
  await cache.close();
  machine.clean();
});

function noise(sizeBytes: number): Uint8Array {
  let state = 1;
  return Uint8Array.from(
    { length: sizeBytes },
    () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24,
  );
}

async function keep(version: VersionId, bytes: Uint8Array): Promise<CachedContent> {
  const { content } = await cache.create(version, bytes.length);
  const recipe = await executor.chunkBytes(bytes);
  cache.setRecipe(content, recipe, await executor.digest([encodeRecipe(recipe)]));
  await cache.write(content, 0, bytes);
  return content;
}

function announce(): void {
  const state = { node: NEXT.node, version: NEXT.seq } as Change["nodes"][number];
  subscriptions.announced([{ seq: NEXT.seq, bindings: [], nodes: [state], replaces: undefined }], [NEXT.seq]);
}

/** NEW against OLD, its runs raw. */
async function difference(change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes): Promise<Difference> {
  const [before, recipe] = [await executor.chunkBytes(OLD), await executor.chunkBytes(NEW)];
  const chunks = new HeldChunks([before]);
  const offsets = chunkOffsets(recipe);
  const missing = changedChunks(before, recipe);
  const runs = missing.map((index) => {
    const bytes = change(NEW.slice(offsets[index], offsets[index + 1]));
    return [index, 1, "raw", bytes.length, bytes];
  });
  return [HELD.seq, NEW.length, encodeRecipeDelta(recipe, chunks), runs] as Difference;
}

function changedChunks(before: Recipe, after: Recipe): number[] {
  const known = new Set(Array.from(before.lengths, (_, index) => hex(before, index)));
  return Array.from(after.lengths, (_, index) => index).filter((index) => !known.has(hex(after, index)));
}

const hex = (recipe: Recipe, index: number): string =>
  Buffer.from(recipe.digests.subarray(32 * index, 32 * (index + 1))).toString("hex");

describe("files in use", () => {
  test("are told of a second after their use, together, once, and only when they are here whole", async () => {
    for (const node of [5, 6]) await keep({ node, seq: 7 }, OLD);
    await cache.create({ node: 8, seq: 7 }, 1_000);
    for (const node of [5, 6, 8]) subscriptions.opened(node, 7);
    await clock.advance(999);
    expect(said).toEqual([]);
    await clock.advance(1);
    subscriptions.opened(5, 7);
    await clock.advance(5_000);
    expect(said).toEqual([
      [
        [5, 7],
        [6, 7],
      ],
    ]);
  });

  test("are many when a program reads a tree: the last are told of", async () => {
    for (let node = 100; node < 200; node++) {
      await keep({ node, seq: 1 }, Buffer.from(`${node}`));
      subscriptions.opened(node, 1);
    }
    await clock.advance(1_000);
    expect(said.map((files) => files.map(([node]) => node))).toEqual([
      Array.from({ length: 64 }, (_, index) => 136 + index),
    ]);
  });

  test("are wanted no more a term after their last use, unless they are open", async () => {
    for (const node of [5, 6]) {
      await keep({ node, seq: 7 }, OLD);
      subscriptions.opened(node, 7);
    }
    open.add(5);
    await clock.advance(1_000 + TIMING.leaseTermMs);
    expect(said.slice(1)).toEqual([[[6, 0]]]);
    open.delete(5);
    await clock.advance(TIMING.leaseTermMs);
    expect(said.slice(2)).toEqual([[[5, 0]]]);
  });

  test("are told of again after another connection, and not without one; what was saved here the server knows of", async () => {
    await keep(HELD, OLD);
    subscriptions.opened(5, 7);
    await clock.advance(1_000);
    await keep(NEXT, NEW);
    subscriptions.made(NEXT);
    await clock.advance(5_000);
    expect(said).toHaveLength(1);
    isConnected = false;
    subscriptions.disconnected();
    await clock.advance(5_000);
    isConnected = true;
    subscriptions.connected();
    await clock.advance(1_000);
    expect(said.slice(1)).toEqual([[[5, 9]]]);
  });

  test("are told of again after another connection, also what was saved here before that", async () => {
    await keep(HELD, OLD);
    subscriptions.opened(5, 7);
    await clock.advance(1_000);
    isConnected = false;
    subscriptions.disconnected();
    await keep(NEXT, NEW);
    subscriptions.made(NEXT);
    isConnected = true;
    subscriptions.connected();
    await clock.advance(1_000);
    expect(said).toEqual([[[5, 7]], [[5, 9]]]);
  });

  test("made here are told of once a program opens them again", async () => {
    await keep(HELD, OLD);
    subscriptions.made(HELD);
    subscriptions.closed(5, 7);
    await clock.advance(5_000);
    expect(said).toEqual([]);
    subscriptions.opened(5, 7);
    await clock.advance(1_000);
    expect(said).toEqual([[[5, 7]]]);
  });

  test("are at most as many as the server remembers", async () => {
    for (let node = 1; node <= LIMITS.wantedFiles + 1; node++) subscriptions.opened(node, 1);
    await keep({ node: 1, seq: 1 }, OLD);
    await clock.advance(1_000);
    expect(said).toEqual([]);
  });
});

describe("a change that comes with the feed", () => {
  beforeEach(async () => {
    await keep(HELD, OLD);
    subscriptions.opened(HELD.node, HELD.seq);
    await clock.advance(1_000);
  });

  test("[W65] is waited for by who opens the file, and is whole without a question", async () => {
    announce();
    let hasArrived = false;
    const arrival = subscriptions.arrived(NEXT).then(() => (hasArrived = true));
    await clock.advance(10);
    expect(hasArrived).toBe(false);
    const came = await difference();
    subscriptions.received(NEXT, came);
    await arrival;
    // Pushed bytes count as data.
    expect(contentBytes.received).toBe(came[3].reduce((sum, [, , , rawBytes]) => sum + rawBytes, 0));
    expect(contentBytes.received).toBeGreaterThan(0);
    const { content } = await cache.create(NEXT, NEW.length);
    await downloads.ensure(content, { offset: 0, length: NEW.length }, "none");
    expect(Buffer.compare(await cache.read(content, 0, NEW.length), NEW)).toBe(0);
    expect(logged).toEqual([]);
    // The server knows that it is here.
    subscriptions.opened(NEXT.node, NEXT.seq);
    await clock.advance(5_000);
    expect(said).toHaveLength(1);
  });

  test.each<[string, () => Promise<Difference | null>, number]>([
    ["[W65] that was too large", async () => null, 0],
    ["against a version that is not here any more", async () => [3, ...(await difference()).slice(1)] as Difference, 0],
    ["with other bytes than its recipe says", () => difference((bytes) => bytes.fill(0)), 1],
    [
      "with chunks that its recipe does not have",
      async () => {
        const [held, size, parts, [run]] = await difference();
        return [held, size, parts, run === undefined ? [] : [[1_000, ...run.slice(1)] as typeof run]];
      },
      1,
    ],
    [
      "of another size than its recipe",
      async () => {
        const [held, size, parts, runs] = await difference();
        return [held, size + 1, parts, runs];
      },
      1,
    ],
  ])("%s keeps nobody waiting: the file is asked for", async (_title, make, failures) => {
    announce();
    const arrival = subscriptions.arrived(NEXT);
    subscriptions.received(NEXT, await make());
    await arrival;
    const { content } = await cache.create(NEXT, NEW.length);
    await expect(downloads.ensure(content, { offset: 0, length: NEW.length }, "none")).rejects.toThrow("is not asked");
    expect(logged).toHaveLength(failures);
  });

  test("that does not come though the connection stands keeps nobody waiting for long, and is taken when it comes", async () => {
    announce();
    let hasArrived = false;
    const arrival = subscriptions.arrived(NEXT).then(() => (hasArrived = true));
    await clock.advance(TIMING.requestTimeoutMs / 2 - 1);
    expect(hasArrived).toBe(false);
    await clock.advance(1);
    await arrival;
    await subscriptions.arrived(NEXT);
    subscriptions.received(NEXT, await difference());
    await clock.advance(10);
    expect(contentBytes.received).toBeGreaterThan(0);
    expect(logged).toEqual([]);
  });

  test("that is lost with the connection keeps nobody waiting", async () => {
    announce();
    const arrival = subscriptions.arrived(NEXT);
    subscriptions.disconnected();
    await arrival;
  });
});
