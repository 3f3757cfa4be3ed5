// Content that a save copies from the version that it began with is not lost, whenever a program writes to the file:
// between the item that names it and the answer, between the answer and the plain file, and after the exchange.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, concatRecipes } from "@runnel/shared";
import type { FeedFromServer, Recipe, VersionId } from "@runnel/shared";
import { Supplies } from "../../src/volume/supplies.ts";
import { bytesOf } from "../volume/volume-rig.ts";
import { ServerRig, instanceOf } from "./server-rig.ts";
import type { Attached, Upload } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
const OLD = bytesOf(1, 200_000);
const NEW = bytesOf(2, 30_000);
const SAVED = Buffer.concat([OLD, NEW]);
const OUTSIDE = bytesOf(9, 200_000);

beforeEach(async () => {
  wire = await ServerRig.open(3);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(async () => {
  wire.rig.disk.fault = undefined;
  await wire.close();
});

async function base(): Promise<{ node: number; version: VersionId; recipe: Recipe }> {
  const node = await one.make(ROOT_NODE, "a");
  const { version } = await one.write(node, 0, OLD);
  await wire.rig.settle();
  return { node, version: { node, seq: version }, recipe: await one.recipe(node, version) };
}

/** A save that copies all of the base and adds NEW, up to its end item. */
async function opened(at: Awaited<ReturnType<typeof base>>): Promise<{ upload: Upload; whole: Recipe }> {
  const upload = one.openWrite({ node: at.node, base: at.version.seq, sizeBytes: SAVED.length });
  upload.copy(at.version, 0, at.recipe.lengths.length);
  await upload.data(NEW);
  await wire.rig.clock.advance(100);
  return { upload, whole: concatRecipes([at.recipe, await wire.rig.executor.chunkBytes(NEW)]) };
}

/** No new file is begun. */
function stopBringingUp(): void {
  wire.rig.disk.fault = (operation, path) => (operation === "open" && path.endsWith(".new") ? "NoSpace" : undefined);
}

/** A program writes to it in place; where there are leases it waits for the server's. */
function outside(bytes = OUTSIDE): Promise<void> {
  return wire.rig.run(wire.rig.writeFile("a", bytes));
}

/** All contents under the name and beside it, and those of old versions. */
async function contents(node: number): Promise<Buffer[]> {
  await wire.rig.settle();
  const found: Buffer[] = [];
  for (const path of (await wire.rig.files()).keys()) found.push(Buffer.from(await wire.rig.readFile(path)));
  for (const { version, place } of await wire.rig.volume.meta.versionsOf(node))
    if (place.at === "trash") found.push(Buffer.from(await wire.rig.run(wire.rig.read(node, version.seq))));
  return found;
}

async function tempFiles(): Promise<string[]> {
  const names: string[] = [];
  await wire.rig.other.list(".runnel-store/temp", (entries) => {
    for (const { name } of entries) names.push(name ?? "");
  });
  return names;
}

function has(all: readonly Buffer[], wanted: Uint8Array): boolean {
  return all.some((each) => each.equals(wanted));
}

describe.each([
  ["a lease keeps programs from writing", true],
  ["no file can be leased", false],
])("where %s", (_name, hasLeases) => {
  beforeEach(() => {
    wire.rig.disk.hasLeases = hasLeases;
  });

  test("[F160] a program writes between the item that names the base and the answer", async () => {
    const at = await base();
    const { upload, whole } = await opened(at);
    await outside();
    const { version } = await upload.finish(whole);
    expect(Buffer.from(await wire.rig.run(wire.rig.read(at.node, version))).equals(SAVED)).toBe(true);
    const all = await contents(at.node);
    expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
    expect(await tempFiles()).toEqual([]);
  });

  test("[F160] a program writes between the answer and the plain file, and it is told before that is made", async () => {
    const at = await base();
    const { upload, whole } = await opened(at);
    stopBringingUp();
    const { version } = await upload.finish(whole);
    await outside();
    await wire.rig.clock.advance(5_000);
    wire.rig.disk.fault = undefined;
    const all = await contents(at.node);
    expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
    expect(Buffer.from(await wire.rig.run(wire.rig.read(at.node, version))).equals(SAVED)).toBe(true);
    expect((await wire.rig.volume.content.notices()).filter(({ kind }) => kind === "conflict")).toHaveLength(1);
    expect(await tempFiles()).toEqual([]);
  });

  test("[F160] the base is itself on its way into the folder when it is named, and written to once it is there", async () => {
    const at = await base();
    stopBringingUp();
    const { upload, whole } = await opened(at);
    const first = await upload.finish(whole);
    const recipe = await one.recipe(at.node, first.version);
    const second = one.openWrite({ node: at.node, base: first.version, sizeBytes: SAVED.length });
    second.copy({ node: at.node, seq: first.version }, 0, recipe.lengths.length);
    await wire.rig.clock.advance(100);
    wire.rig.disk.fault = undefined;
    await wire.rig.settle();
    await outside();
    const { version } = await second.finish(recipe);
    expect(Buffer.from(await wire.rig.run(wire.rig.read(at.node, version))).equals(SAVED)).toBe(true);
    const all = await contents(at.node);
    expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
  });

  test("[F161] a program that has the file open writes after another has taken its place", async () => {
    const at = await base();
    const file = await wire.rig.other.open("a", "write");
    const { upload, whole } = await opened(at);
    await upload.finish(whole);
    await wire.rig.clock.advance(1_000);
    await wire.rig.run(file.write(0, OUTSIDE));
    await file.close();
    const all = await contents(at.node);
    expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
    expect((await wire.rig.volume.content.notices()).filter(({ kind }) => kind === "conflict")).toHaveLength(1);
  });
});

test("[F161] a program that has an empty file open writes to it after a save has taken its place", async () => {
  const node = await one.make(ROOT_NODE, "a");
  await wire.rig.settle();
  const file = await wire.rig.other.open("a", "write");
  await one.write(node, 0, NEW);
  await wire.rig.clock.advance(1_000);
  await wire.rig.run(file.write(0, OUTSIDE));
  await file.close();
  const all = await contents(node);
  expect([has(all, NEW), has(all, OUTSIDE)]).toEqual([true, true]);
});

test("[F160] after a crash the copy that was made for the commit is there still", async () => {
  wire.rig.disk.hasLeases = false;
  const at = await base();
  const { upload, whole } = await opened(at);
  stopBringingUp();
  const { version } = await upload.finish(whole);
  await wire.rig.kill();
  await wire.rig.writeFile("a", OUTSIDE);
  await wire.rig.open();
  const all = await contents(at.node);
  expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
  expect(Buffer.from(await wire.rig.run(wire.rig.read(at.node, version))).equals(SAVED)).toBe(true);
  expect(await tempFiles()).toEqual([]);
});

test("[F162] after a crash what a program moved within the file is found by its digests", async () => {
  const at = await base();
  const { upload, whole } = await opened(at);
  stopBringingUp();
  const { version } = await upload.finish(whole);
  await wire.rig.kill();
  const shifted = Buffer.concat([bytesOf(9, 1000), OLD]);
  await wire.rig.writeFile("a", shifted);
  await wire.rig.open();
  const all = await contents(at.node);
  // All but the first chunk, which has grown.
  const [first = 0] = at.recipe.lengths;
  const rest = SAVED.subarray(first);
  expect(all.some((each) => each.length === SAVED.length && each.subarray(first).equals(rest))).toBe(true);
  expect(has(all, shifted)).toBe(true);
  const [notice] = await wire.rig.volume.content.notices();
  expect(notice).toMatchObject({ kind: "incomplete", path: "a", missing: [{ offset: 0, length: first }] });
  expect(version).toBeGreaterThan(at.version.seq);
});

test("[F163] after a crash what nobody has any more is named, what the save brought is kept, and commits behind it go on", async () => {
  const at = await base();
  const { upload, whole } = await opened(at);
  stopBringingUp();
  await upload.finish(whole);
  const other = await one.make(ROOT_NODE, "other");
  await one.write(other, 0, Buffer.from("behind it"));
  await wire.rig.kill();
  await wire.rig.writeFile("a", OUTSIDE);
  await wire.rig.open();
  const all = await contents(at.node);
  expect(has(all, OUTSIDE)).toBe(true);
  expect(all.some((each) => each.length === SAVED.length && each.subarray(OLD.length).equals(NEW))).toBe(true);
  expect(has(all, Buffer.from("behind it"))).toBe(true);
  const notices = await wire.rig.volume.content.notices();
  expect(notices).toContainEqual(
    expect.objectContaining({ kind: "incomplete", path: "a", missing: [{ offset: 0, length: OLD.length }] }),
  );
  expect(wire.rig.volume.content.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
});

describe("what nobody has any more but the client that committed it", () => {
  /** A commit whose base was destroyed while the server was down, and its client connected again. */
  async function destroyed(): Promise<{ node: number; version: number; again: Attached; ranges: [number, number][] }> {
    const at = await base();
    const { upload, whole } = await opened(at);
    stopBringingUp();
    const { version } = await upload.finish(whole);
    await wire.rig.kill();
    await wire.rig.writeFile("a", OUTSIDE);
    await wire.rig.open();
    const again = await (await wire.greeted()).attach(instanceOf("1"));
    const lacks = (): FeedFromServer | undefined => again.feed.find(([kind]) => kind === "lack");
    await wire.rig.clock.runUntil(() => lacks() !== undefined, 30_000);
    const item = lacks();
    if (item?.[0] !== "lack") throw new Error("Nothing was asked for.");
    expect(item[1]).toEqual({ node: at.node, seq: version });
    return { node: at.node, version, again, ranges: item[2] };
  }

  test("[W160] is asked for on its feed, and makes the commit whole", async () => {
    const { node, version, again, ranges } = await destroyed();
    for (const [offset, length] of ranges)
      for (let done = 0; done < length; done += 50_000) {
        const end = offset + Math.min(length, done + 50_000);
        again.channel.send(["have", [node, version], offset + done, SAVED.subarray(offset + done, end)]);
      }
    const all = await contents(node);
    expect([has(all, SAVED), has(all, OUTSIDE)]).toEqual([true, true]);
    expect(Buffer.from(await wire.rig.run(wire.rig.read(node, version))).equals(SAVED)).toBe(true);
    expect((await wire.rig.volume.content.notices()).map(({ kind }) => kind)).not.toContain("incomplete");
  });

  test("[W160] is missing when the client has not all of it, brings other bytes, or says nothing", async () => {
    const { node, version, again, ranges } = await destroyed();
    const [[offset = 0] = []] = ranges;
    again.channel.send(["have", [node, version], offset, bytesOf(5, 10_000)]);
    again.channel.send(["haveNot", [node, version]]);
    const all = await contents(node);
    expect(has(all, OUTSIDE)).toBe(true);
    expect((await wire.rig.volume.content.notices()).map(({ kind }) => kind)).toContain("incomplete");
    expect(wire.rig.volume.content.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
  });

  test("[W160] bytes that were not asked for end the feed, and change nothing", async () => {
    const { node, version, again } = await destroyed();
    again.channel.send(["have", [node, version], OLD.length, bytesOf(5, 10)]);
    await wire.rig.clock.runUntil(() => again.ended !== undefined, 5_000);
    expect(again.ended).toMatchObject({ kind: "Invalid" });
    const all = await contents(node);
    expect(all.some((each) => each.length === SAVED.length && each.subarray(OLD.length).equals(NEW))).toBe(true);
  });

  test("[W160] [limit lackedRanges] of so many ranges; of more nothing is asked", async () => {
    const { rig } = wire;
    const asked: number[] = [];
    const supplies = new Supplies(rig.clock, (_instance, _version, ranges) => void asked.push(ranges.length));
    const ranges = Array.from({ length: LIMITS.lackedRanges + 1 }, (_, index) => ({ offset: 2 * index, length: 1 }));
    const take = async (): Promise<void> => undefined;
    await supplies.ask("one", { node: 2, seq: 3 }, ranges, take);
    expect(asked).toEqual([]);
    await rig.run(supplies.ask("one", { node: 2, seq: 3 }, ranges.slice(1), take));
    expect(asked).toEqual([LIMITS.lackedRanges]);
    // It did not come: it is not waited for again until it has.
    await supplies.ask("one", { node: 2, seq: 4 }, ranges.slice(1), take);
    expect(asked).toEqual([LIMITS.lackedRanges]);
  });
});
