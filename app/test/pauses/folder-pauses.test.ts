// Pauses of folders and files in a drive: what lies in them, and where it goes with its folder.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type RunnelError, SimulatedClock } from "@runnel/shared";
import type { FolderPause } from "../../src/agent/mount-status.ts";
import { FolderPauses } from "../../src/agent/pauses/folder-pauses.ts";

const HOUR_MS = 3_600_000;
const EPOCH = "epoch";
const [ROOT, A, B, A_FILE, B_FILE, BOTH] = [1, 2, 3, 4, 5, 6];

let clock: SimulatedClock;
let settings: { mountpoint: string; pausedFolders?: readonly FolderPause[] };
let places: Map<number, { folder: number; name: string }[]>;
let events: string[];
let changes: number;
let pauses: FolderPauses;

function wallMs(): number {
  return Number(clock.wallNs() / 1_000_000n);
}

function pathOf(node: number): string | undefined {
  if (node === ROOT) return "";
  const [place] = places.get(node) ?? [];
  const parent = place && pathOf(place.folder);
  return parent === undefined ? undefined : parent === "" ? place?.name : `${parent}/${place?.name}`;
}

function open(): FolderPauses {
  return new FolderPauses({
    settings,
    clock,
    names: {
      namesOf: (node) => places.get(node) ?? [],
      pathOf,
      nodeAt: (path) => [...places.keys()].find((node) => pathOf(node) === path) ?? 0,
    },
    happened: (kind, path, detail) => void events.push(`${kind} ${path}: ${detail}`),
    changed: () => void changes++,
  });
}

beforeEach(() => {
  clock = new SimulatedClock();
  settings = { mountpoint: "/drive" };
  places = new Map([
    [A, [{ folder: ROOT, name: "a" }]],
    [B, [{ folder: ROOT, name: "b" }]],
    [A_FILE, [{ folder: A, name: "file" }]],
    [B_FILE, [{ folder: B, name: "file" }]],
    [
      BOTH,
      [
        { folder: B, name: "both" },
        { folder: A, name: "both" },
      ],
    ],
  ]);
  [events, changes] = [[], 0];
  pauses = open();
});

function pause(path: string, node: number, untilMs: number | null = wallMs() + HOUR_MS): void {
  pauses.pause(path, { node, epoch: EPOCH }, { sinceMs: wallMs(), untilMs });
}

function paused(): boolean[] {
  return [ROOT, A, B, A_FILE, B_FILE, BOTH].map((node) => pauses.isPaused([node]));
}

test("a folder's pause is of it and all below it, by any of its names", () => {
  expect(paused()).toEqual([false, false, false, false, false, false]);
  pause("a", A);
  expect(paused()).toEqual([false, true, false, true, false, true]);
  expect(pauses.isPaused([B, A])).toBe(true);
  expect([pauses.isPaused([], "a"), pauses.isPaused([], "a/new"), pauses.isPaused([], "ab")]).toEqual([
    true,
    true,
    false,
  ]);
  expect(pauses.why([A_FILE])).toMatch(
    /^Paused until .*: nothing of a is sent or fetched\. Resume it: runnel resume \/drive\/a$/,
  );
  expect([pauses.whyWhole("a/file"), pauses.whyWhole(""), pauses.whyWhole("b")].map(Boolean)).toEqual([
    true,
    true,
    false,
  ]);
});

test("it goes with the folder where that is renamed, and into another one", () => {
  pause("a", A);
  places.set(A, [{ folder: B, name: "c" }]);
  expect(paused()).toEqual([false, true, false, true, false, true]);
  expect(pauses.status()).toMatchObject([{ path: "b/c" }]);
  expect(pauses.isPaused([], "a/file")).toBe(false);
  expect(settings.pausedFolders).toMatchObject([{ path: "b/c", node: A }]);
  expect(pauses.resume("a")).toBe(false);
  expect(pauses.resume("b/c")).toBe(true);
  expect([paused().includes(true), settings.pausedFolders]).toEqual([false, undefined]);
});

test("it is of what comes to its path where its own folder is gone", () => {
  pause("a", A);
  places.delete(A);
  places.delete(A_FILE);
  expect(pauses.isPaused([], "a/file")).toBe(true);
  places.set(40, [{ folder: ROOT, name: "a" }]);
  expect([pauses.isPaused([40]), pauses.status()[0]?.path]).toEqual([true, "a"]);
});

test("it ends at its time, once; another one of the same path takes its place", async () => {
  pause("a", A);
  pause("a", A, wallMs() + 2 * HOUR_MS);
  expect(pauses.status()).toHaveLength(1);
  await clock.advance(HOUR_MS + 60_000);
  expect(pauses.isPaused([A])).toBe(true);
  const before = changes;
  await clock.advance(HOUR_MS);
  expect([pauses.isPaused([A]), changes]).toEqual([false, before + 1]);
  expect(events.at(-1)).toBe("resumed a: Its time was over.");
});

describe("what is under way", () => {
  test("of what is paused ends with the reason, and all else goes on", () => {
    using inside = pauses.enter("write", [A_FILE]);
    using outside = pauses.enter("write", [B_FILE]);
    using named = pauses.enter("write", [], "a/copy");
    pause("a", A);
    expect([inside, outside, named].map(({ signal }) => signal.aborted)).toEqual([true, false, true]);
    expect((inside.signal.reason as RunnelError).kind).toBe("Unreachable");
    expect(() => pauses.enter("fetch", [A_FILE])).toThrow(/^Paused until/);
  });

  test("and has ended is not touched", () => {
    const before = pauses.enter("write", [A_FILE]);
    before[Symbol.dispose]();
    pause("a", A);
    expect(before.signal.aborted).toBe(false);
  });
});

describe("that a former process left", () => {
  test("goes on, and is of what lies at its path where the volume was made anew", () => {
    settings.pausedFolders = [{ path: "a", node: A, epoch: EPOCH, sinceMs: wallMs(), untilMs: null }];
    pauses.begin();
    expect([pauses.isPaused([A]), events]).toEqual([true, []]);
    places = new Map([[40, [{ folder: ROOT, name: "a" }]]]);
    pauses.attached("another epoch");
    expect([pauses.isPaused([40]), pauses.isPaused([A])]).toEqual([true, false]);
  });

  test("is over when its time is", () => {
    const untilMs = wallMs() - 1;
    settings.pausedFolders = ["a", "b"].map((path, at) => ({ path, node: A + at, epoch: EPOCH, sinceMs: 0, untilMs }));
    pauses.begin();
    expect([paused().includes(true), settings.pausedFolders]).toEqual([false, undefined]);
  });
});
