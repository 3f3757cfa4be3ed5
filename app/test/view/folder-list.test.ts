// Rows of a folder by their place: in each order, with what is here and what is pinned.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Change, ROOT_NODE, SimulatedClock } from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import type { Pins } from "../../src/agent/pins/pins.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { FolderList } from "../../src/agent/view/folder-list.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import { makeState } from "../replica/model-tree.ts";

const FILES = { b: 300, A: 100, c: 200 };
const PINNED = 10;
/** An order is kept so long while the drive changes. */
const SORTED_FOR_MS = 2_000;

let cache: Cache;
let replica: Replica;
let clock: SimulatedClock;
let list: FolderList;
let seq: number;
/** Folders in the pin: what of them is here, and how much there is to look at. */
let looked: Map<number, { share: number; entries: number }>;

beforeEach(async () => {
  cache = await new CacheMachine().open();
  clock = new SimulatedClock();
  replica = openReplica(":memory:", "boot 1");
  replica.reset("e".repeat(32), makeState(ROOT_NODE, "folder", 0));
  seq = 0;
  const [all, here] = [FILES.b, FILES.b / 4].map((bytes) => ({ files: 1, bytes }));
  const kept = { pin: { node: PINNED, path: "b" }, isComplete: false, all, here };
  looked = new Map();
  const pins = {
    keptBy: (node: number) => (node === PINNED || looked.has(node) ? kept : undefined),
    shareHere: (node: number, left: { entries: number }) => {
      const { share, entries } = looked.get(node) ?? { share: 0, entries: 0 };
      if (entries > left.entries) return undefined;
      left.entries -= entries;
      return share;
    },
  };
  const pauses = { rowOf: (node: number) => (node === PINNED + 1 ? { isOwn: true, until: "until 8:00" } : null) };
  list = new FolderList({ replica, cache, clock, pauses, pins: pins as unknown as Pins });
  for (const [index, [name, sizeBytes]] of Object.entries(FILES).entries()) put(name, PINNED + index, sizeBytes);
  change("z-folder", makeState(50, "folder", 1));
});

afterEach(() => cache.close());

function put(name: string, node: number, sizeBytes: number): void {
  const mtimeNs = BigInt(node) * 1_000_000n;
  change(name, { ...makeState(node, "file", 1), sizeBytes, version: 1, mtimeNs });
}

function change(name: string, state: Change["nodes"][number]): void {
  seq += 1;
  const bindings = [{ folder: ROOT_NODE, name, node: state.node }];
  replica.apply([{ seq, bindings, nodes: [{ ...state, seq }], replaces: undefined }]);
}

function names(order: "name" | "size" | "modified", from = 0, count = 10): string[] {
  return list.page(ROOT_NODE, { from, count, order }).rows.map(({ name }) => name);
}

test("has folders first, then files in the order that is asked for, whatever the case of their names", () => {
  expect(names("name")).toEqual(["z-folder", "A", "b", "c"]);
  expect(names("size")).toEqual(["z-folder", "b", "c", "A"]);
  expect(names("modified")).toEqual(["z-folder", "c", "A", "b"]);
  expect(names("name", 2, 1)).toEqual(["b"]);
  expect(names("name", 9, 1)).toEqual([]);
});

test("says what of a file is here, and what is pinned or paused", async () => {
  using hold = await cache.create({ node: PINNED + 1, seq: 1 }, FILES.A);
  await cache.write(hold.content, 0, new Uint8Array(40), "range");
  const { total, rows } = list.page(ROOT_NODE, { from: 0, count: 10, order: "name" });
  expect(total).toBe(4);
  expect(rows.map(({ pause }) => pause?.until)).toEqual([undefined, "until 8:00", undefined, undefined]);
  expect(rows.map(({ index, name, hereBytes, pin }) => [index, name, hereBytes, pin?.path, pin?.share])).toEqual([
    [0, "z-folder", null, undefined, undefined],
    [1, "A", 40, undefined, undefined],
    [2, "b", 0, "b", 0.25],
    [3, "c", 0, undefined, undefined],
  ]);
});

test("says of a folder in a pin what of it is here, whatever else is missing, and of one that is too large nothing", () => {
  for (const [index, [share, entries]] of [
    [1, 4_000],
    [0.5, 900],
    [0, 1_000],
    [1, 50],
  ].entries()) {
    change(`in-pin-${index}`, makeState(70 + index, "folder", 1));
    looked.set(70 + index, { share: share ?? 0, entries: entries ?? 0 });
  }
  const { rows } = list.page(ROOT_NODE, { from: 0, count: 10, order: "name" });
  const shown = rows.filter(({ pin }) => pin?.isOwn === false);
  expect(shown.map(({ name, pin }) => [name, pin?.share, pin?.isComplete])).toEqual([
    ["in-pin-0", 1, true],
    ["in-pin-1", 0.5, false],
    ["in-pin-2", null, false],
    ["in-pin-3", 1, true],
  ]);
});

test("is another revision only when names came, went or moved, and is sorted anew at most every two seconds", async () => {
  const revision = (): number => list.page(ROOT_NODE, { from: 0, count: 1, order: "name" }).revision;
  const first = revision();
  put("b", PINNED, 301);
  await clock.advance(SORTED_FOR_MS);
  expect(revision()).toBe(first);
  put("d", 60, 1);
  expect(revision()).toBe(first);
  await clock.advance(SORTED_FOR_MS);
  expect([revision(), names("name").at(-1)]).toEqual([first + 1, "d"]);
});
