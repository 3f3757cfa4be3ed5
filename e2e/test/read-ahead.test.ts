// Programs that walk a tree reading: what it costs on a long line, and that it is right whatever the line does.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdirSync, writeFileSync } from "node:fs";
import { Sandbox, noise, onMount, quiet, run, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, LinkShape, ServerProcess } from "../src/harness/index.ts";

const FOLDERS = 6;
const FILES = 100;
const FILE_BYTES = 3200;
const TREE_BYTES = FOLDERS * FILES * FILE_BYTES;
const SLOW_MS = 120_000;

let sandbox: Sandbox;
let served: string;
let server: ServerProcess;
/** Machines so far: each test has one of its own, which has read nothing yet, behind a line of its own. */
let machines = 0;
let link: LinkEmulator;
let device: Device;
let drive: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (let folder = 0; folder < FOLDERS; folder++) {
    const path = `${served}/module ${folder}`;
    mkdirSync(path);
    for (let file = 0; file < FILES; file++)
      writeFileSync(`${path}/source-${file}.ts`, noise(FILE_BYTES, folder * FILES + file + 1));
  }
  server = await sandbox.startServer({ volumes: { docs: served } });
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

async function mountThrough(shape: Partial<LinkShape>): Promise<void> {
  const name = `machine-${++machines}`;
  link = await sandbox.startEmulator(server.port, shape);
  device = sandbox.device(name);
  drive = sandbox.makeFolder("drives", name);
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await waitFor(async () => (await mount()).state === "connected", 30_000, "the tree to be listed");
  await quiet(link);
  await link.resetCounts();
  await device.stats(drive, { reset: true });
}

async function mount(): Promise<{ state: string }> {
  const [one] = (await device.status())["mounts"] as { state: string }[];
  if (one === undefined) throw new Error("Nothing is mounted.");
  return one;
}

async function roundTrips(): Promise<number> {
  const [one] = (await device.stats(drive))["mounts"] as { statistics: { roundTrips: number } }[];
  return one?.statistics.roundTrips ?? Infinity;
}

async function received(): Promise<number> {
  return (await link.counts()).down.sentBytes;
}

describe("a program that walks a tree reading", () => {
  test.each([
    ["grep -r", '{ grep -rc "never there" "$1" || true; } | wc -l'],
    ["cp -r", 'cp -r "$1" "$2"; diff -r "$1" "$2"; find "$2" -type f | wc -l'],
  ])(
    "by %s costs 12 round trips at 100 ms, and 2 %% more than the contents",
    async (_name, script) => {
      await mountThrough({ rttMs: 100 });
      const out = await onMount(script, [drive, sandbox.path("out")], { deadlineMs: SLOW_MS });
      expect(out.trim()).toBe(String(FOLDERS * FILES));
      expect(await roundTrips()).toBeLessThanOrEqual(12);
      await quiet(link);
      expect(await received()).toBeLessThan(TREE_BYTES * 1.02);
    },
    SLOW_MS,
  );

  test(
    "that compares two trees, file by file, costs 16 round trips, not one a file",
    async () => {
      await mountThrough({ rttMs: 60 });
      const script = 'diff -r "$1/module 0" "$1/module 1" >/dev/null || [ $? = 1 ]';
      await onMount(script, [drive], { deadlineMs: SLOW_MS });
      expect(await roundTrips()).toBeLessThanOrEqual(16);
    },
    SLOW_MS,
  );

  test("finds the names in the order in which its files come", async () => {
    // Takes the drive of the test before, where there is one, and a folder in it that was not walked there.
    if (machines === 0) await mountThrough({});
    await onMount('LC_ALL=C ls -U "$1/module 5" | LC_ALL=C sort -c', [drive]);
  });

  test(
    "and stops after a few files gets little more than it was likely to read",
    async () => {
      await mountThrough({ rttMs: 30 });
      await onMount('for n in 0 1 10; do wc -c < "$1/module 2/source-$n.ts"; done', [drive]);
      await quiet(link);
      expect(await received()).toBeLessThan(80 * FILE_BYTES);
    },
    SLOW_MS,
  );

  test(
    "and ends makes the stream end: over a slow line most of it is never sent",
    async () => {
      await mountThrough({ rttMs: 30, downBitsPerSecond: 80_000 });
      await onMount('for n in 0 1; do wc -c < "$1/module 2/source-$n.ts"; done', [drive]);
      await quiet(link);
      // 64 files would be 200 KB: 20 s. Nobody opened one for five.
      expect(await received()).toBeLessThan(40 * FILE_BYTES);
    },
    SLOW_MS,
  );

  test(
    "does not wait behind its own stream when it opens something else",
    async () => {
      await mountThrough({ rttMs: 30, downBitsPerSecond: 400_000 });
      // The stream of 64 files takes four seconds; what is asked for by name is there within one.
      const script = `
      for n in 0 1; do wc -c < "$1/module 2/source-$n.ts"; done
      timeout 1.5 wc -c < "$1/module 4/source-50.ts"`;
      const out = await onMount(script, [drive]);
      expect(out.trim().split("\n")).toHaveLength(3);
    },
    SLOW_MS,
  );

  test(
    "gets an error when the line is cut, and all of it once the line is back",
    async () => {
      await mountThrough({ rttMs: 30, downBitsPerSecond: 2e6 });
      const walking = run("cp", ["-r", drive, sandbox.path("cut")], { deadlineMs: SLOW_MS });
      await waitFor(async () => (await received()) > TREE_BYTES / 6, 30_000, "a part of the tree");
      await link.cut("refuse");
      const { code, isOverdue, stderr } = await walking;
      expect({ code, isOverdue }).toEqual({ code: 1, isOverdue: false });
      expect(stderr).toMatch(/Input\/output error/);
      await link.restore();
      await waitFor(async () => (await mount()).state === "connected", 30_000, "the line");
      const script = 'cp -r "$1" "$2"; diff -r "$3" "$2" --exclude=.runnel-store';
      await onMount(script, [drive, sandbox.path("whole"), served], { deadlineMs: SLOW_MS });
      await quiet(link);
      expect(await received()).toBeLessThan(TREE_BYTES * 1.4);
    },
    SLOW_MS,
  );
});
