// Pins over a real replica and cache, with a server that the test plays: which files are pinned, what is brought, and
// what the list on the disk says.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Change, type NodeState, ROOT_NODE, RunnelError, writeWhole } from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { evict } from "../../src/agent/pins/evict.ts";
import { FilesBelow } from "../../src/agent/pins/files-below.ts";
import { PinList } from "../../src/agent/pins/pin-list.ts";
import { Pins } from "../../src/agent/pins/pins.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import { makeState } from "../replica/model-tree.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const FOLDER = 10;
const INNER = 11;
const SMALL = 20;
const LARGE = 21;
const OTHER = 22;
const OUTER = 12;
const MORE = 23;
const SMALL_BYTES = 1000;
const LARGE_BYTES = 300_000;
const EPOCH = "e".repeat(32);

let machine: CacheMachine;
let cache: Cache;
let replica: Replica;
let list: PinList;
let pins: Pins;
let seq: number;
/** Node ids in the order in which they were asked for; what fails next. */
let asked: number[];
let failure: RunnelError | undefined;
let isResponsive: boolean;

beforeEach(async () => {
  machine = new CacheMachine();
  cache = await machine.open();
  replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, makeState(ROOT_NODE, "folder", 0));
  seq = 0;
  [asked, failure, isResponsive] = [[], undefined, true];
  change([bound(ROOT_NODE, "folder", FOLDER), bound(FOLDER, "inner", INNER)], folderOf(FOLDER), folderOf(INNER));
  change([bound(INNER, "small", SMALL)], fileOf(SMALL, SMALL_BYTES));
  change([bound(INNER, "large", LARGE)], fileOf(LARGE, LARGE_BYTES));
  change([bound(ROOT_NODE, "other", OTHER)], fileOf(OTHER, SMALL_BYTES));
  list = await PinList.open(machine.root);
  pins = open();
});

afterEach(async () => {
  await pins.close();
  await cache.close();
});

function open(cacheBytes = 10_000_000): Pins {
  const opened = new Pins({
    replica,
    cache,
    list,
    clock: machine.clock,
    settings: { cacheBytes },
    cacheRoot: machine.root,
    session: {
      get isResponsive() {
        return isResponsive;
      },
    },
    readAhead: { bring: async (states) => void (await Promise.all(states.map(bring))) },
    pauses: nothingPaused,
    downloads: { keep: async (content) => fill(content) },
    log: () => undefined,
  });
  opened.listed();
  return opened;
}

async function bring({ node, version, sizeBytes }: NodeState): Promise<void> {
  if (failure !== undefined) return;
  using hold = await cache.create({ node, seq: version }, sizeBytes);
  await fill(hold.content);
}

async function fill(content: CachedContent): Promise<void> {
  if (failure !== undefined) throw failure;
  asked.push(content.version.node);
  await cache.write(content, 0, new Uint8Array(content.sizeBytes));
}

function bound(folder: number, name: string, node: number): Change["bindings"][number] {
  return { folder, name, node };
}

function fileOf(node: number, sizeBytes: number): NodeState {
  return { ...makeState(node, "file", seq + 1), sizeBytes, version: seq + 1, nlink: 1 };
}

function folderOf(node: number): NodeState {
  return makeState(node, "folder", seq + 1);
}

/** A change that the server tells. */
function change(bindings: Change["bindings"], ...nodes: NodeState[]): void {
  seq += 1;
  const item: Change = { seq, bindings, nodes, replaces: undefined };
  replica.apply([item]);
  pins?.changed([item]);
}

/** Until nothing moves any more. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    await machine.clock.advance(1_000);
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

function heldOf(node: number): boolean {
  return cache.versionsOf(node).length > 0;
}

test("brings what a pinned folder holds, small files first and nothing else, and keeps it from eviction", async () => {
  const pin = await pins.pin("folder", FOLDER);
  expect(pin).toEqual({
    path: "folder",
    isThere: true,
    all: { files: 2, bytes: SMALL_BYTES + LARGE_BYTES },
    here: { files: 0, bytes: 0 },
    isComplete: false,
  });
  await settled();
  expect(asked).toEqual([SMALL, LARGE]);
  expect(pins.status()).toMatchObject([{ isComplete: true, here: { files: 2, bytes: SMALL_BYTES + LARGE_BYTES } }]);
  await bring(fileOf(OTHER, SMALL_BYTES));
  await cache.evict(0);
  expect([SMALL, LARGE, OTHER].map(heldOf)).toEqual([true, true, false]);
  await pins.unpin("folder");
  await cache.evict(0);
  expect([SMALL, LARGE].map(heldOf)).toEqual([false, false]);
});

test("is complete no more from the moment that a change is told, and stays so for one that is not pinned", async () => {
  await pins.pin("folder", FOLDER);
  await settled();
  change([], fileOf(OTHER, SMALL_BYTES));
  expect(pins.status()).toMatchObject([{ isComplete: true }]);
  change([], fileOf(SMALL, SMALL_BYTES));
  expect(pins.status()).toMatchObject([{ isComplete: false }]);
  await settled();
  expect(pins.status()).toMatchObject([{ isComplete: true }]);
});

test("brings a new version, and lets the old one go; what comes into the folder is pinned, what leaves it is not", async () => {
  await pins.pin("folder", FOLDER);
  await settled();
  change([], fileOf(SMALL, SMALL_BYTES + 1));
  change([bound(ROOT_NODE, "other", 0), bound(FOLDER, "came", OTHER)]);
  change([bound(INNER, "large", 0), bound(ROOT_NODE, "left", LARGE)]);
  await settled();
  expect(asked).toEqual([SMALL, LARGE, SMALL, OTHER]);
  expect(pins.status()).toMatchObject([{ isComplete: true, all: { files: 2 }, here: { files: 2 } }]);
  expect([pins.pinOf(OTHER)?.path, pins.pinOf(LARGE)]).toEqual(["folder", undefined]);
  await cache.evict(0);
  expect(cache.versionsOf(SMALL).map(({ sizeBytes }) => sizeBytes)).toEqual([SMALL_BYTES + 1]);
  expect(heldOf(LARGE)).toBe(false);
});

test("looks only at what came or went: at a folder with all in it, and at what of one that left was still to come", async () => {
  const looked: number[] = [];
  const { entriesAfter } = replica;
  replica.entriesAfter = (folder, ...rest) => {
    looked.push(folder);
    return entriesAfter.call(replica, folder, ...rest);
  };
  await pins.pin("folder", FOLDER);
  await settled();
  change([bound(ROOT_NODE, "outer", OUTER)], folderOf(OUTER));
  change([bound(OUTER, "more", MORE)], fileOf(MORE, SMALL_BYTES), folderOf(OUTER));
  looked.length = 0;
  change([bound(ROOT_NODE, "other", 0), bound(FOLDER, "came", OTHER)], folderOf(FOLDER));
  await settled();
  expect(looked).toEqual([]);
  change([bound(ROOT_NODE, "outer", 0), bound(INNER, "came", OUTER)], folderOf(INNER));
  expect(pins.status()).toMatchObject([{ isComplete: false }]);
  await settled();
  expect(looked).toEqual([OUTER]);
  expect(asked).toEqual([SMALL, LARGE, OTHER, MORE]);
  expect(pins.status()).toMatchObject([{ isComplete: true, all: { files: 4 }, here: { files: 4 } }]);
  failure = new RunnelError("NoSpace", "write", "The disk is full.");
  change([], fileOf(MORE, SMALL_BYTES));
  await settled();
  expect(pins.status()).toMatchObject([{ isComplete: false }]);
  change([bound(INNER, "came", 0), bound(ROOT_NODE, "left", OUTER)]);
  await settled();
  expect(pins.status()).toMatchObject([{ isComplete: true, all: { files: 3 } }]);
  expect(pins.problems()).toEqual([]);
});

test("comes to each folder once, also where one seems to be below itself", () => {
  change([bound(INNER, "folder", FOLDER)]);
  const below = new FilesBelow(replica, FOLDER);
  const found: number[] = [];
  for (let files = below.next(2); files !== undefined; files = below.next(2))
    found.push(...files.map(({ node }) => node));
  expect(found).toEqual([LARGE, SMALL]);
});

test("knows of each file whether it is pinned, also after a folder above it was moved", async () => {
  await pins.pin("folder", FOLDER);
  expect(pins.pinOf(SMALL)?.path).toBe("folder");
  change([bound(FOLDER, "inner", 0), bound(ROOT_NODE, "outer", INNER)]);
  expect([pins.pinOf(SMALL), pins.pinOf(INNER), pins.pinOf(FOLDER)?.path]).toEqual([undefined, undefined, "folder"]);
  change([bound(ROOT_NODE, "outer", 0), bound(FOLDER, "inner", INNER)]);
  expect(pins.pinOf(SMALL)?.path).toBe("folder");
});

test("is known with its path and whether it is whole, also when it was looked at just before it was followed", async () => {
  await pins.pin("folder", FOLDER);
  await settled();
  change([bound(ROOT_NODE, "folder", 0), bound(ROOT_NODE, "renamed", FOLDER)]);
  expect(pins.keptBy(SMALL)?.pin.path).toBe("folder");
  await settled();
  expect(pins.keptBy(SMALL)).toMatchObject({ pin: { path: "renamed" }, isComplete: true });
});

test("knows of a folder in it what share is here, unless there is more to look at than may be", async () => {
  change([bound(FOLDER, "outer", OUTER), bound(OUTER, "more", MORE)], folderOf(OUTER), fileOf(MORE, SMALL_BYTES));
  const left = { entries: 10 };
  expect([INNER, OUTER].map((node) => pins.shareHere(node, left))).toEqual([0, 0]);
  expect(left.entries).toBe(5);
  await bring(replica.node(MORE)!);
  await bring(replica.node(SMALL)!);
  const [inner, outer, all] = [INNER, OUTER, FOLDER].map((node) => pins.shareHere(node, { entries: 10 }));
  expect([inner, outer]).toEqual([SMALL_BYTES / (SMALL_BYTES + LARGE_BYTES), 1]);
  expect(all).toBeCloseTo((2 * SMALL_BYTES) / (2 * SMALL_BYTES + LARGE_BYTES));
  expect([0, 2].map((entries) => pins.shareHere(FOLDER, { entries }))).toEqual([undefined, undefined]);
});

test("is refused beyond the budget with what lacks, beside other pins; what lies in two pins counts once", async () => {
  await pins.close();
  pins = open(LARGE_BYTES + SMALL_BYTES + 10);
  await pins.pin("folder", FOLDER);
  await pins.pin("folder/inner/large", LARGE);
  await expect(pins.pin("other", OTHER)).rejects.toMatchObject({
    kind: "Quota",
    message: expect.stringContaining("it needs 990 B more than the cache may take"),
  });
  expect(pins.status().map(({ path }) => path)).toEqual(["folder", "folder/inner/large"]);
  await settled();
  change([], fileOf(SMALL, SMALL_BYTES + 100));
  await settled();
  expect(pins.problems()).toEqual([expect.stringContaining("needs 90 B more than the cache may take")]);
  expect(pins.lackingBytes()).toBe(90);
  expect(asked).toEqual([SMALL, LARGE]);
  change([], fileOf(SMALL, SMALL_BYTES));
  await settled();
  expect(asked).toEqual([SMALL, LARGE, SMALL]);
  expect(pins.problems()).toEqual([]);
});

test("waits for the line, and tries again what failed", async () => {
  isResponsive = false;
  await pins.pin("folder", FOLDER);
  await settled();
  expect(asked).toEqual([]);
  failure = new RunnelError("NoSpace", "write", "The disk is full.");
  isResponsive = true;
  pins.connected();
  await settled();
  expect(pins.problems()).toEqual([expect.stringMatching(/^folder\/inner\/\w+ and 1 more could not be brought/)]);
  failure = undefined;
  await machine.clock.advance(60_000);
  await settled();
  expect(pins.problems()).toEqual([]);
  expect(pins.status()).toMatchObject([{ isComplete: true }]);
});

test("goes with its file when that is renamed, with its path when another takes the place, and waits where none is", async () => {
  await pins.pin("other", OTHER);
  await settled();
  change([bound(ROOT_NODE, "other", 0), bound(ROOT_NODE, "renamed", OTHER)]);
  await settled();
  expect(pins.status()[0]?.path).toBe("renamed");
  const next = 30;
  change([bound(ROOT_NODE, "renamed", next)], { ...fileOf(OTHER, SMALL_BYTES), nlink: 0 }, fileOf(next, 500));
  await settled();
  expect(pins.status()).toMatchObject([{ path: "renamed", isThere: true, all: { bytes: 500 }, isComplete: true }]);
  change([bound(ROOT_NODE, "renamed", 0)], { ...fileOf(next, 500), nlink: 0 });
  await settled();
  expect(pins.status()).toMatchObject([{ path: "renamed", isThere: false, isComplete: false }]);
  change([bound(ROOT_NODE, "renamed", 31)], fileOf(31, 700));
  await settled();
  expect(pins.status()).toMatchObject([{ isThere: true, here: { bytes: 700 }, isComplete: true }]);
  await pins.unpin("renamed");
  expect((await PinList.open(machine.root)).pins).toEqual([]);
});

test("is one pin, under the name that it has now, also when the change has only just come", async () => {
  await pins.pin("other", OTHER);
  change([bound(ROOT_NODE, "other", 40)], { ...fileOf(OTHER, SMALL_BYTES), nlink: 0 }, fileOf(40, 600));
  await pins.pin("other", 40);
  change([bound(ROOT_NODE, "other", 0), bound(ROOT_NODE, "renamed", 40)]);
  await pins.unpin("renamed");
  expect(pins.status()).toEqual([]);
});

test("is there again after a restart, and in a new epoch finds what is at its path", async () => {
  await Promise.all([pins.pin("folder/inner", INNER), pins.pin("other", OTHER), pins.pin("other", OTHER)]);
  await pins.close();
  const again = await PinList.open(machine.root);
  expect(again.pins).toEqual([
    { node: INNER, path: "folder/inner" },
    { node: OTHER, path: "other" },
  ]);
  replica.reset("f".repeat(32), makeState(ROOT_NODE, "folder", 0));
  seq = 0;
  list = again;
  pins = open();
  change([bound(ROOT_NODE, "other", SMALL)], fileOf(SMALL, SMALL_BYTES));
  pins.listed();
  await settled();
  expect(pins.status()).toMatchObject([
    { path: "folder/inner", isThere: false },
    { path: "other", isThere: true, isComplete: true },
  ]);
  expect(asked.at(-1)).toBe(SMALL);
});

test("evicts what is not pinned and not in use, and says what stays", async () => {
  for (const node of [SMALL, LARGE, OTHER]) await bring(replica.node(node) as NodeState);
  await pins.pin("folder/inner/small", SMALL);
  const [other] = cache.versionsOf(OTHER);
  const hold = cache.hold(other as CachedContent);
  expect(await evict({ replica, cache, pins }, "", ROOT_NODE)).toEqual({
    files: 1,
    bytes: LARGE_BYTES,
    filesInUse: 1,
    filesPinned: 1,
  });
  hold[Symbol.dispose]();
  expect((await evict({ replica, cache, pins }, "other", OTHER)).files).toBe(1);
  expect([SMALL, LARGE, OTHER].map(heldOf)).toEqual([true, false, false]);
  await expect(evict({ replica, cache, pins }, "folder/inner/small", SMALL)).rejects.toMatchObject({ kind: "Busy" });
});

test("[F151] a damaged list is kept under another name and told of; a newer one is refused", async () => {
  await writeWhole(machine.root, "pins.json", Buffer.from('{"format": 1, "pins": [{"node": -1}]}'));
  const damaged = await PinList.open(machine.root);
  expect(damaged.pins).toEqual([]);
  expect(damaged.damage).toContain("pins.damaged.json");
  await machine.root.stat("pins.damaged.json");
  await writeWhole(machine.root, "pins.json", Buffer.from('{"format": 2}'));
  await expect(PinList.open(machine.root)).rejects.toMatchObject({ kind: "Version" });
});
