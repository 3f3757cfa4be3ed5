// Fetches in the register of what moves: what came, what an older version spared, and that one that fails leaves no
// entry.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Channel, LIMITS, RunnelError, encodeRecipe, sliceRecipe } from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { Downloads } from "../../src/agent/transfer/download.ts";
import { Sources } from "../../src/agent/transfer/sources/sources.ts";
import type { Session } from "../../src/agent/wire/session.ts";
import { CacheMachine, type Sample } from "../cache/cache-machine.ts";
import { makeTransfers } from "../view/make-transfers.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const NODE = 5;
const PART = 128 * 1024;

let machine: CacheMachine;
let cache: Cache;
let transfers: ReturnType<typeof makeTransfers>;
let downloads: Downloads;
/** Items of the next fetches, with their bulk. */
let answers: { items: unknown[]; bulk: Uint8Array[] }[];

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
  transfers = makeTransfers(machine.clock);
  answers = [];
  const session = {
    isResponsive: true,
    nowMs: 0,
    silenceLeftMs: 0,
    timeoutLeftMs: () => 0,
    recipeBytes: { sent: 0, received: 0 },
    contentBytes: { sent: 0, received: 0 },
    mustRespond: () => undefined,
    whileItComes: <T>(answer: Promise<T>): Promise<T> => answer,
    open: () => channelOf(answers.shift()),
  } as unknown as Session;
  const reused = { base: 0, cache: 0, server: 0, bytes: 0 };
  const sources = new Sources({
    clock: machine.clock,
    executor: machine.executor,
    lateMs: () => 2_000,
    dropped: () => undefined,
  });
  downloads = new Downloads({
    cache,
    session,
    executor: machine.executor,
    reused,
    transfers,
    pauses: nothingPaused,
    sources,
  });
});

afterEach(async () => {
  await cache.close();
  machine.clean();
});

function channelOf(answer: { items: unknown[]; bulk: Uint8Array[] } | undefined): Channel {
  if (answer === undefined) throw new RunnelError("Unreachable", "fetch", "Nobody answers.");
  return {
    next: async () => answer.items.shift(),
    readBulk: async () => answer.bulk.shift(),
    result: async () => ({}),
    cancel: () => undefined,
  } as unknown as Channel;
}

function raw({ bytes }: Sample, offset: number, length: number): (typeof answers)[number] {
  const items = [
    ["v", bytes.length, null],
    ["raw", offset, "raw", length, length],
  ];
  return { items, bulk: [bytes.subarray(offset, offset + length)] };
}

test("a program that reads on has one transfer, which says how much of the file is here", async () => {
  const sample = await machine.sample(1, 4 * PART);
  using hold = await cache.create({ node: NODE, seq: 2 }, 4 * PART);
  for (const offset of [0, PART]) {
    answers.push(raw(sample, offset, PART));
    await downloads.read(hold.content, { offset, length: PART }, { isReadingOn: true });
  }
  expect(transfers.list()).toMatchObject([
    { direction: "down", path: "node 5", totalBytes: 4 * PART, doneBytes: 2 * PART, reusedBytes: 0 },
  ]);
  await machine.clock.advance(10_000);
  expect(transfers.ended).toMatchObject([{ movedBytes: 2 * PART, crossedBytes: 2 * PART, doneBytes: 2 * PART }]);
});

test("what an older version has is reused, and the recipe counts as what crossed the wire", async () => {
  const before = await machine.sample(1, PART);
  const after = await machine.sampleOf(Buffer.concat([before.bytes.subarray(0, PART / 2), Buffer.alloc(PART / 2, 7)]));
  using old = await cache.create({ node: NODE, seq: 2 }, PART);
  cache.setRecipe(old.content, before.recipe, before.oid);
  await cache.write(old.content, 0, before.bytes);
  using hold = await cache.create({ node: NODE, seq: 3 }, PART);
  const { recipe } = after;
  const known = before.recipe.lengths.findIndex((length, index) => length !== recipe.lengths[index]);
  const offset = recipe.lengths.slice(0, known).reduce((sum, length) => sum + length, 0);
  const count = recipe.lengths.length - known;
  const encoded = after.bytes.subarray(offset);
  const descriptors = encodeRecipe(sliceRecipe(recipe, 0, recipe.lengths.length));
  answers.push({
    items: [
      ["v", PART, [descriptors]],
      ["d", known, count, "raw", encoded.length, encoded.length],
    ],
    bulk: [encoded],
  });
  await downloads.ensure(hold.content, { offset: 0, length: PART }, "none");
  await machine.clock.advance(10_000);
  expect(transfers.ended).toMatchObject([
    {
      movedBytes: encoded.length,
      fromOldVersion: offset,
      crossedBytes: encoded.length + descriptors.length,
      doneBytes: PART,
    },
  ]);
});

test("that fails is gone from the register", async () => {
  using hold = await cache.create({ node: NODE, seq: 2 }, PART);
  const reading = downloads.read(hold.content, { offset: 0, length: 10 }, { isReadingOn: false });
  await expect(reading).rejects.toMatchObject({ kind: "Unreachable" });
  await machine.clock.advance(10_000);
  expect(transfers.size).toBe(0);
  expect(machine.clock.pendingTimers).toBe(0);
});

test("[W31] [limit recipeDescriptors] a recipe that comes in parts has no more chunks than another", async () => {
  const before = await machine.sample(1, PART);
  using old = await cache.create({ node: NODE, seq: 2 }, PART);
  cache.setRecipe(old.content, before.recipe, before.oid);
  await cache.write(old.content, 0, before.bytes);
  using hold = await cache.create({ node: NODE, seq: 3 }, 2 ** 44);
  const count = before.recipe.lengths.length;
  const parts = Array.from({ length: Math.ceil(400_000 / count) }, () => [0, 0, count]);
  const items = Array.from({ length: 1 + LIMITS.recipeDescriptors / 400_000 }, () => ["p", parts]);
  answers.push({ items: [["v", 2 ** 44, parts], ...items], bulk: [] });
  const keeping = downloads.ensure(hold.content, { offset: 0, length: PART }, "none");
  await expect(keeping).rejects.toMatchObject({ kind: "TooLarge", detail: { rule: "W31" } });
});

test("[W28] [limit runBytes] a delta against more of a held version than a mebibyte is refused", async () => {
  const before = await machine.sample(1, 2 * LIMITS.runBytes);
  using old = await cache.create({ node: NODE, seq: 2 }, before.bytes.length);
  cache.setRecipe(old.content, before.recipe, before.oid);
  await cache.write(old.content, 0, before.bytes);
  const after = await machine.sample(2, PART);
  using hold = await cache.create({ node: NODE, seq: 3 }, PART);
  const { length } = after.recipe.lengths;
  const items = [
    ["v", PART, [encodeRecipe(after.recipe)]],
    ["d", 0, length, [0, 0, before.recipe.lengths.length], PART, 10],
  ];
  answers.push({ items, bulk: [new Uint8Array(10)] });
  const asking = downloads.ensure(hold.content, { offset: 0, length: PART }, "none");
  await expect(asking).rejects.toMatchObject({ kind: "Invalid", detail: { rule: "W28" } });
});
