// Carrying on sticks, over real folders: what the other side lacks goes, comes in, and is pulled out in the middle.
import { cp, mkdir, readFile, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { SeededRandom } from "@runnel/shared";
import { sourceContract } from "../transfer/sources/chunk-source-contract.ts";
import { Stick } from "../../src/agent/carry/stick.ts";
import { NEVER } from "../supply/supply-rig.ts";
import { MemoryDrive, NO_PROGRESS, StickRig, filesOf } from "./stick-rig.ts";

const noise = (seed: number, length: number): Uint8Array => new SeededRandom(seed).bytes(length);
const FILES = filesOf({ 2: noise(1, 300_000), 3: noise(2, 200_000), 4: noise(3, 1_000) });
const ALL_BYTES = 501_000;
const OUT = { devices: undefined, device: "office", ...NO_PROGRESS };

let rig: StickRig;
beforeEach(async () => {
  rig = await StickRig.make();
});
afterEach(() => rig[Symbol.asyncDispose]());

function carryOut(drive: MemoryDrive, dir = rig.stick) {
  return rig.carrier().carryOut({ dir, drives: [{ carrying: drive, paths: [""] }], ...OUT });
}

function carryIn(drive: MemoryDrive, dir = rig.stick) {
  return rig.carrier().carryIn({ dir, drives: [drive], device: "home", ...NO_PROGRESS });
}

async function fileOn(stick: string, end: string): Promise<string> {
  const entries = await readdir(join(stick, "runnel-carry"), { recursive: true, withFileTypes: true });
  const found = entries.find(({ name }) => name.endsWith(end));
  return join(found?.parentPath ?? "", found?.name ?? "");
}

sourceContract("A stick", async (content) => {
  const own = await StickRig.make();
  const stick = await Stick.open(own.stick, own.deps, NEVER, true);
  const sink = stick.sink([]);
  const { recipe, bytes } = content;
  let at = 0;
  for (const [from, length] of recipe.lengths.entries()) {
    await sink.put(content, { from, count: 1, bytes: bytes.subarray(at, at + length) });
    at += length;
  }
  await sink.flush();
  await stick[Symbol.asyncDispose]();
  const again = await Stick.open(own.stick, own.deps, NEVER, false);
  const close = async (): Promise<void> => {
    await again[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
  };
  return { source: again.source, close };
});

test("[F220] files that are carried out come in on the other side without the line", async () => {
  const carried = await carryOut(new MemoryDrive(FILES, FILES.keys()));
  expect(carried).toMatchObject({ files: 3, bytes: ALL_BYTES, writtenBytes: ALL_BYTES, failed: 0 });
  const other = new MemoryDrive(FILES, []);
  const came = { files: 3, bytes: ALL_BYTES, sparedBytes: ALL_BYTES, alreadyHere: 0, superseded: 0, device: "home" };
  expect(await carryIn(other)).toMatchObject(came);
  expect(other.lineBytes).toBe(0);
  expect(await carryIn(other)).toMatchObject({ files: 0, alreadyHere: 3, sparedBytes: 0 });
});

test("[F220] chunks are written once, whoever carries them how often", async () => {
  const drive = new MemoryDrive(FILES, FILES.keys());
  await carryOut(drive);
  drive.unsent = Buffer.concat([noise(1, 300_000), noise(9, 100_000)]);
  const again = await carryOut(drive);
  expect(again).toMatchObject({ files: 3, unsentFiles: 1 });
  expect(again.writtenBytes).toBeGreaterThan(99_000);
  expect(again.writtenBytes).toBeLessThan(100_000 + 65_536);
});

test("[F222] a version that has changed on the server since is not brought", async () => {
  await carryOut(new MemoryDrive(FILES, FILES.keys()));
  const now = new Map(FILES);
  now.set(2, { seq: 8, bytes: noise(7, 10_000), path: "folder/file-2" });
  now.delete(3);
  expect(await carryIn(new MemoryDrive(now, []))).toMatchObject({ files: 1, superseded: 2 });
});

test("[F223] what a device has said to hold is not carried to it; one that has said nothing is named", async () => {
  await carryOut(new MemoryDrive(FILES, FILES.keys()));
  const other = new MemoryDrive(FILES, []);
  await carryIn(other);
  const second = join(rig.folder, "second");
  await mkdir(second);
  await cp(join(rig.stick, "runnel-carry/inventories"), join(second, "runnel-carry/inventories"), { recursive: true });
  expect((await carryOut(new MemoryDrive(FILES, FILES.keys()), second)).writtenBytes).toBe(0);
  await expect(rig.carrier().carryOut({ dir: second, drives: [], ...OUT, devices: ["nobody"] })).rejects.toMatchObject({
    kind: "NotFound",
    message: expect.stringContaining('"nobody" has left no list'),
  });
});

test.each([
  ["what home lacks goes to home, also where the lab lacks more", ["home"], 1_000],
  ["what the lab lacks goes to the lab", ["lab"], 300_000],
  ["what is for both is left out where both have it", ["lab", "home"], 301_000],
  ["what is for nobody in particular is left out where all have it", undefined, 301_000],
])("[F223] %s", async (_what, devices, writtenBytes) => {
  await carryOut(new MemoryDrive(new Map(), []));
  for (const [device, nodes] of [
    ["home", [2, 3]],
    ["lab", [3, 4]],
  ] as const) {
    const held = new Map([...FILES].filter(([node]) => nodes.some((each) => each === node)));
    const drives = [new MemoryDrive(held, held.keys())];
    await rig.carrier().carryIn({ dir: rig.stick, drives, device, ...NO_PROGRESS });
  }
  const drives = [{ carrying: new MemoryDrive(FILES, FILES.keys()), paths: [""] }];
  const carried = await rig.carrier().carryOut({ dir: rig.stick, drives, ...OUT, devices });
  expect(carried).toMatchObject({ files: 3, bytes: ALL_BYTES, writtenBytes });
});

test.each([".pack", ".index", ".json"])(
  "[F221] wherever a %s was cut, what is whole of the stick is used and the rest comes over the line",
  async (end) => {
    const drive = new MemoryDrive(FILES, FILES.keys());
    await carryOut(drive);
    const path = await fileOn(rig.stick, end);
    const whole = await readFile(path);
    const cuts = [0, 1, 16, 40, Math.floor(whole.length / 2), whole.length - 33, whole.length - 1, whole.length];
    let taken = 0;
    for (const length of cuts) {
      await truncate(path, length);
      const other = new MemoryDrive(FILES, []);
      const { files, sparedBytes } = await carryIn(other);
      expect(other.here.size).toBe(files);
      expect(sparedBytes + other.lineBytes).toBe(files > 0 ? ALL_BYTES : 0);
      taken += sparedBytes;
      await writeFile(path, whole);
    }
    // Only the whole one counts; a manifest is whole without its last line's end.
    expect(taken).toBe(end === ".json" ? 2 * ALL_BYTES : ALL_BYTES);
    await truncate(path, Math.floor(whole.length / 2));
    // The next who writes to it, for a device that has nothing, puts right what was cut.
    await rm(join(rig.stick, "runnel-carry/inventories"), { recursive: true });
    await carryOut(drive);
    const last = new MemoryDrive(FILES, []);
    expect(await carryIn(last)).toMatchObject({ files: 3, sparedBytes: ALL_BYTES });
  },
);

test("rot on a stick costs the line what has rotten, and no wrong byte comes in", async () => {
  await carryOut(new MemoryDrive(FILES, FILES.keys()));
  const packs = join(rig.stick, "runnel-carry/packs");
  const [name = ""] = (await readdir(packs)).filter((each) => each.endsWith(".pack"));
  const pack = await readFile(join(packs, name));
  for (let at = 1_000; at < pack.length; at += 200_000) pack[at] = (pack[at] ?? 0) ^ 0x80;
  await writeFile(join(packs, name), pack);
  const other = new MemoryDrive(FILES, []);
  const came = await carryIn(other);
  // Three chunks, and not their pack.
  expect(other.lineBytes).toBeGreaterThan(0);
  expect(other.lineBytes).toBeLessThan(3 * 65_536);
  expect(came.sparedBytes + other.lineBytes).toBe(ALL_BYTES);
});

test("links on a stick are not followed", async () => {
  const outside = join(rig.folder, "outside");
  await mkdir(outside);
  await symlink(outside, join(rig.stick, "runnel-carry"));
  await expect(carryOut(new MemoryDrive(FILES, FILES.keys()))).rejects.toMatchObject({ kind: "NotFolder" });
  expect(await readdir(outside)).toEqual([]);
});

test("a stick that was pulled out as its folders were made carries nothing", async () => {
  await mkdir(join(rig.stick, "runnel-carry"));
  expect(await carryIn(new MemoryDrive(FILES, []))).toMatchObject({ files: 0, failed: 0 });
});

test("a folder that carries nothing is named, and left as it is", async () => {
  await expect(carryIn(new MemoryDrive(FILES, []))).rejects.toMatchObject({
    kind: "NotFound",
    message: expect.stringContaining("carries nothing"),
  });
  expect(await readdir(rig.stick)).toEqual([]);
});
