// A write that the server's end cut: what was staged is there for the next life, proved, within its bounds, and no
// longer than it is of use.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE, TIMING, chunkOffsets, concatRecipes } from "@runnel/shared";
import type { Recipe, VersionId } from "@runnel/shared";
import { bytesOf } from "../volume/volume-rig.ts";
import { ServerRig, instanceOf } from "./server-rig.ts";
import type { Attached, Upload } from "./server-rig.ts";

const MiB = 1024 * 1024;
const LONG = process.env["RUNNEL_LONG"] === "1";
/** Without RUNNEL_LONG only some stops are tried. */
const STRIDE = 5;
const ONE = instanceOf("1");
const N = 50;
const OLD = bytesOf(1, 200_000);
/** More than a log record holds, so that it is staged; a run each. */
const RUNS = [bytesOf(2, 700_000), bytesOf(3, 600_000), bytesOf(4, 90_000)] as const;
const UNKNOWN = bytesOf(5, 150_000);

let wire: ServerRig;
let one: Attached;

async function start(options: Parameters<typeof ServerRig.open>[1] = {}, seed = 3): Promise<void> {
  wire = await ServerRig.open(seed, options);
  one = await (await wire.greeted()).attach(ONE);
}

beforeEach(() => start());

afterEach(() => wire.close());

function chunks(bytes: Uint8Array): Promise<Recipe> {
  return wire.rig.executor.chunkBytes(bytes);
}

/** A write of data, a copy, and what nobody has; each item in a run of its own. */
interface Planned {
  opening: { node: number; base: number; sizeBytes: number };
  version: VersionId;
  whole: Recipe;
  bytes: Uint8Array;
  items: ((upload: Upload) => Promise<void> | void)[];
}

async function planned(): Promise<Planned> {
  const node = await one.make(ROOT_NODE, "a");
  const written = await one.write(node, 0, OLD);
  await wire.rig.settle();
  const version = { node, seq: written.version };
  const [old, unknown] = [await one.recipe(node, version.seq), await chunks(UNKNOWN)];
  const bytes = Buffer.concat([RUNS[0], OLD, RUNS[1], UNKNOWN, RUNS[2]]);
  const parts = [await chunks(RUNS[0]), old, await chunks(RUNS[1]), unknown, await chunks(RUNS[2])];
  return {
    opening: { node, base: version.seq, sizeBytes: bytes.length },
    version,
    whole: concatRecipes(parts),
    bytes,
    items: [
      (upload) => upload.data(RUNS[0]),
      (upload) => upload.copy(version, 0, old.lengths.length),
      (upload) => upload.data(RUNS[1]),
      (upload) => upload.known(unknown, null, 0),
      (upload) => upload.data(RUNS[2]),
    ],
  };
}

const UNKNOWN_ITEM = 3;

async function send(upload: Upload, { items }: Planned, from: number, to = items.length): Promise<void> {
  for (const item of items.slice(from, to)) await item(upload);
}

async function begin(plan: Planned, count: number, n = N): Promise<Upload> {
  const upload = one.openWrite(plan.opening, n);
  await send(upload, plan, 0, count);
  await wire.rig.clock.advance(200);
  return upload;
}

/** The next life, with the same client. */
async function openAgain(): Promise<void> {
  await wire.rig.open();
  await wire.rig.settle();
  one = await (await wire.greeted()).attach(ONE);
  one.n = 1_000;
}

type End = "kill" | "cutPower" | "close";

async function restart(how: End): Promise<void> {
  if (how === "close") await wire.close();
  else await wire.rig[how]();
  await openAgain();
}

/** Resumes the write, and returns the item from which the server says that it continues. */
async function resumed(opening: object, n = N): Promise<{ upload: Upload; from: number }> {
  const upload = one.openWrite({ ...opening, isResumed: true }, n);
  const reply = await upload.reply();
  if (reply?.[0] !== "from") throw new Error(`Not resumed: ${JSON.stringify(reply)}`);
  return { upload, from: reply[1] };
}

/** Sends the rest, and what is needed, and holds the result to what was meant. */
async function finish(upload: Upload, plan: Planned, from: number): Promise<number[]> {
  await send(upload, plan, from);
  await upload.end(plan.whole);
  const reply = await upload.reply();
  if (reply !== undefined) {
    expect(reply).toEqual(["need", [UNKNOWN_ITEM]]);
    await upload.data(UNKNOWN, ["r", UNKNOWN_ITEM]);
    await upload.end(plan.whole);
  }
  const { version } = await upload.result();
  const read = await wire.rig.read(plan.opening.node, version);
  expect(Buffer.from(read).equals(Buffer.from(plan.bytes))).toBe(true);
  await wire.rig.settle();
  expect(Buffer.from(await wire.rig.readFile("a")).equals(Buffer.from(plan.bytes))).toBe(true);
  expect(await tempFiles()).toEqual([]);
  return reply?.[0] === "need" ? reply[1] : [];
}

async function tempFiles(): Promise<string[]> {
  const names: string[] = [];
  await wire.rig.other.list(".runnel-store/temp", (entries) => {
    for (const { name } of entries) names.push(name ?? "");
  });
  return names.sort();
}

/** The staged file or its notes, as another program may change them. */
async function changeFile(name: string, change: (bytes: Buffer) => Uint8Array): Promise<void> {
  const file = await wire.rig.other.open(`.runnel-store/temp/${name}`, "write");
  const bytes = Buffer.from(await file.read(0, (await file.stat()).sizeBytes));
  const changed = change(bytes);
  await file.truncate(changed.length);
  await file.write(0, changed);
  await file.close();
}

test("[W26] a write whose line breaks lies on the disk, not in memory", async () => {
  const plan = await planned();
  await begin(plan, 2);
  expect(await tempFiles()).toEqual([]);
  one.client.link.cut();
  await wire.rig.clock.advance(200);
  expect(await tempFiles()).toHaveLength(2);
  one = await (await wire.greeted()).attach(ONE);
  const { upload, from } = await resumed(plan.opening);
  expect(from).toBe(2);
  await finish(upload, plan, from);
});

describe.each(["kill", "close"] as const)("a write cut by the server's end (%s)", (how) => {
  test.each([3, 4, 5])("[W26] [F33] goes on after item %i in the next life, with nothing sent again", async (count) => {
    const plan = await planned();
    await begin(plan, count);
    await restart(how);
    const { upload, from } = await resumed(plan.opening);
    expect(from).toBe(count);
    expect(await finish(upload, plan, from)).toEqual([UNKNOWN_ITEM]);
  });

  test("[W26] that was too small to be staged is sent from 0, unless its line had broken before", async () => {
    const plan = await planned();
    await begin(plan, 2);
    expect(await tempFiles()).toEqual([]);
    await restart(how);
    const { upload, from } = await resumed(plan.opening);
    expect(from).toBe(how === "kill" ? 0 : 2);
    await finish(upload, plan, from);
  });

  test("[F33] is not asked again for what was needed and has come", async () => {
    const plan = await planned();
    const upload = await begin(plan, 5);
    await upload.end(plan.whole);
    expect(await upload.reply()).toEqual(["need", [UNKNOWN_ITEM]]);
    await upload.data(UNKNOWN, ["r", UNKNOWN_ITEM]);
    await wire.rig.clock.advance(200);
    await restart(how);
    const again = await resumed(plan.opening);
    expect(again.from).toBe(5);
    expect(await finish(again.upload, plan, again.from)).toEqual([]);
  });

  test("[W26] [W211] goes on in fixed chunks", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const bytes = bytesOf(9, 3 * 1024 * 1024 + 5);
    const whole = await wire.rig.executor.chunkBytes(bytes, 3);
    const opening = { node, base: 0, sizeBytes: bytes.length, preset: 3 as const };
    const first = one.openWrite(opening, N);
    await first.data(bytes.subarray(0, 2 * 1024 * 1024), ["d"], 3);
    await wire.rig.clock.advance(200);
    await restart(how);
    const { upload, from } = await resumed(opening);
    expect(from).toBeGreaterThan(0);
    await upload.data(bytes.subarray(2 * 1024 * 1024), ["d"], 3);
    const { version } = await upload.finish(whole);
    expect(await one.recipe(node, version)).toEqual(whole);
  });

  test("[F34] goes on over several lives", async () => {
    const plan = await planned();
    await begin(plan, 3);
    await restart(how);
    const second = await resumed(plan.opening);
    await send(second.upload, plan, second.from, 5);
    await wire.rig.clock.advance(200);
    await restart(how);
    const third = await resumed(plan.opening);
    expect([second.from, third.from]).toEqual([3, 5]);
    await finish(third.upload, plan, third.from);
  });
});

describe("what is left of a write", () => {
  test.each([
    ["a chunk that has rotted", "staged-1", (bytes: Buffer) => bytes.fill(0, 1_000_000, 1_000_010), 2],
    ["a file that is shorter", "staged-1", (bytes: Buffer) => bytes.subarray(0, 700_001), 2],
    ["a torn note", "staged-1.notes", (bytes: Buffer) => bytes.subarray(0, bytes.length - 1), 4],
    ["a changed note", "staged-1.notes", (bytes: Buffer) => bytes.fill(1, bytes.length - 10, bytes.length - 9), 4],
    ["notes without the first", "staged-1.notes", (bytes: Buffer) => bytes.fill(1, 0, 20), 0],
  ])("[F34] goes on only before %s, and all behind it is sent again", async (_what, file, change, expected) => {
    const plan = await planned();
    await begin(plan, 5);
    await wire.rig.kill();
    await changeFile(file, change);
    await openAgain();
    const { upload, from } = await resumed(plan.opening);
    expect(from).toBe(expected);
    await finish(upload, plan, from);
  });

  test("[F34] goes on only before a copy of a version that is no longer kept", async () => {
    const plan = await planned();
    await begin(plan, 5);
    await restart("kill");
    await one.write(plan.version.node, plan.version.seq, Buffer.from("short"));
    await wire.rig.settle();
    await wire.rig.volume.meta.forgetVersion(plan.version);
    expect((await resumed(plan.opening)).from).toBe(1);
  });

  test("[F34] is gone after a day, counted from its last note, however often the server starts", async () => {
    const plan = await planned();
    await begin(plan, 5);
    for (let life = 0; life < 3; life++) {
      await restart("kill");
      await wire.rig.clock.advance(TIMING.stagedKeepMs / 4);
    }
    expect(await tempFiles()).toEqual(["staged-1", "staged-1.notes"]);
    await wire.rig.clock.advance(TIMING.stagedKeepMs / 4);
    expect(await tempFiles()).toEqual([]);
    expect((await resumed(plan.opening)).from).toBe(0);
  });

  test("[F34] is gone when the server was away for a day", async () => {
    const plan = await planned();
    await begin(plan, 5);
    await wire.rig.kill();
    await wire.rig.clock.advance(TIMING.stagedKeepMs);
    await openAgain();
    expect(await tempFiles()).toEqual([]);
    expect((await resumed(plan.opening)).from).toBe(0);
  });

  test("[F34] is gone with its epoch", async () => {
    const plan = await planned();
    await begin(plan, 5);
    await wire.rig.kill();
    wire.rig.loseMeta();
    await openAgain();
    expect(await tempFiles()).toEqual([]);
  });

  test("[F34] is of at most 64 writes of an instance, the newest, and within what it may stage", async () => {
    await wire.close();
    await start({ stagedBytesMax: 3 * 1_300_000 });
    const plan = await planned();
    for (const n of [N, N + 1]) await begin(plan, 3, n);
    await restart("kill");
    // Suspended writes count: a third has space, a fourth has not.
    await begin(plan, 3, N + 2);
    const fourth = await begin(plan, 3, N + 3);
    await expect(fourth.result()).rejects.toMatchObject({ kind: "Quota" });
    expect((await resumed(plan.opening, N + 1)).from).toBe(3);
    await wire.close();
    // Begins as many as are kept, of one file's worth of bytes each.
    await start();
    const small = await planned();
    for (let n = N; n < N + 66; n++) {
      await begin(small, 3, n);
      await wire.rig.clock.advance(1_000);
    }
    await wire.rig.kill();
    await openAgain();
    expect(await tempFiles()).toHaveLength(2 * 64);
    expect((await resumed(small.opening, N + 1)).from).toBe(0);
    expect((await resumed(small.opening, N + 2)).from).toBe(3);
  }, 60_000);

  test("[F33] of a write that was refused goes with it", async () => {
    const plan = await planned();
    const upload = await begin(plan, 5);
    await upload.end(await chunks(OLD));
    await upload.reply();
    await upload.data(UNKNOWN, ["r", UNKNOWN_ITEM]);
    await upload.end(await chunks(OLD));
    await expect(upload.result()).rejects.toMatchObject({ kind: "Corrupt" });
    expect(await tempFiles()).toEqual([]);
  });
});

/** The write from its first item to its answer; what it answered, if it did. */
async function allOf(plan: Planned): Promise<void> {
  const upload = one.openWrite(plan.opening, N);
  await send(upload, plan, 0);
  await upload.end(plan.whole);
  await upload.reply();
  await upload.data(UNKNOWN, ["r", UNKNOWN_ITEM]);
  await upload.end(plan.whole);
  await upload.result();
  await wire.rig.settle();
}

async function operationsOf(): Promise<number> {
  const plan = await planned();
  const before = wire.rig.disk.operations;
  await allOf(plan);
  return wire.rig.disk.operations - before;
}

describe.each(["kill", "cutPower"] as const)("stopped by %s", (how) => {
  test("[W24] [F24] [F34] at any disk operation, a write is gone on with and executed once, and nothing is left behind", async () => {
    const operations = await operationsOf();
    let wasGoneOnWith = 0;
    for (let at = 0; at < operations; at += LONG ? 1 : STRIDE) {
      await wire.close();
      await start({}, at);
      const plan = await planned();
      let left = at;
      wire.rig.disk.fault = () => (left-- > 0 ? undefined : "Io");
      await Promise.race([allOf(plan).catch(() => undefined), wire.rig.clock.advance(60_000)]);
      await restart(how);
      try {
        const upload = one.openWrite({ ...plan.opening, isResumed: true }, N);
        const reply = await upload.reply();
        if (reply?.[0] === "from") {
          if (reply[1] > 0) wasGoneOnWith++;
          await finish(upload, plan, reply[1]);
        } else {
          await upload.result();
          await wire.rig.settle();
          expect(Buffer.from(await wire.rig.readFile("a")).equals(Buffer.from(plan.bytes))).toBe(true);
          expect(await tempFiles()).toEqual([]);
        }
      } catch (error) {
        throw new Error(`Stopped after ${at} of ${operations} operations`, { cause: error });
      }
    }
    if (how === "kill") expect(wasGoneOnWith).toBeGreaterThan(0);
  }, 240_000);
});

test("[F33] is synced as it grows: a power cut takes the last of it only", async () => {
  const node = await one.make(ROOT_NODE, "a");
  const bytes = bytesOf(6, 40 * MiB);
  const whole = await chunks(bytes);
  const opening = { node, base: 0, sizeBytes: bytes.length };
  const upload = one.openWrite(opening, N);
  await upload.data(bytes.subarray(0, sizeOfFirst(whole, 36 * MiB)));
  await wire.rig.clock.advance(200);
  await restart("cutPower");
  const { from } = await resumed(opening);
  // The bytes that were written while these were synced may be there, or not.
  expect(from).toBeGreaterThanOrEqual(30);
}, 60_000);

/** Size of the first whole chunks, up to so many bytes. */
function sizeOfFirst(recipe: Recipe, bytesMax: number): number {
  return chunkOffsets(recipe).findLast((offset) => offset <= bytesMax) ?? 0;
}
