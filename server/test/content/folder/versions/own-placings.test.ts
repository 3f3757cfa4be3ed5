// A save soon after another copies without digesting it again: the file is as this server has just put it in place.
// Anything else young is digested.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import type { VersionId } from "@runnel/shared";
import { SETTLE_MS, wouldShow } from "../../../../src/content/folder/disk/same-file.ts";
import { VolumeRig, bytesOf } from "../../../volume/volume-rig.ts";

const SIZE = 100_000;
let rig: VolumeRig;
let node: number;

beforeEach(async () => {
  rig = await VolumeRig.open(5);
  node = await rig.file(ROOT_NODE, "a", bytesOf(1, SIZE));
  await rig.settle();
});

afterEach(() => rig.close());

/** Saves new bytes in front of the file, as of `agoMs` before now, and has them applied. */
async function save(agoMs: number, upTo: (seq: number) => Promise<unknown> = up): Promise<VersionId> {
  const mtimeNs = rig.clock.wallNs() - BigInt(agoMs) * 1_000_000n;
  const { version, seq } = await rig.prepend(node, bytesOf(2, 10), { mtimeNs });
  await upTo(seq);
  return { node, seq: version };
}

const up = (seq: number): Promise<void> => rig.run(rig.volume.content.whenApplied(seq));

async function isSettled(version: VersionId): Promise<boolean> {
  const open = await rig.volume.content.open(version);
  try {
    return await open.isSettled(0, open.sizeBytes);
  } finally {
    await open.close();
  }
}

/** Writes in place, as many bytes as before. */
async function writeElsewhere(mtimeNs?: bigint): Promise<void> {
  const file = await rig.other.open("a", "write");
  await file.write(50, Buffer.from("another program"));
  await file.close();
  if (mtimeNs !== undefined) await rig.other.setStat("a", { mtimeNs });
}

describe("a file that was just put in place", () => {
  test("needs no proof, though its tuple is young", async () => {
    expect(await isSettled(await save(50))).toBe(true);
  });

  test("needs proof where its time is that of now: a write in the same tick would not show", async () => {
    const version = await save(-50);
    await rig.clock.advance(100);
    expect(await isSettled(version)).toBe(false);
    await rig.clock.advance(SETTLE_MS);
    expect(await isSettled(version)).toBe(true);
  });

  test("needs proof once another program has written to it, in whatever moment", async () => {
    const version = await save(50);
    await writeElsewhere();
    expect(await isSettled(version).catch(({ kind }: { kind: string }) => kind)).not.toBe(true);
  });

  test("needs proof after that program set its old time again", async () => {
    const version = await save(50);
    const { mtimeNs } = await rig.other.stat("a");
    await rig.clock.advance(5);
    await writeElsewhere(mtimeNs);
    expect(await isSettled(version).catch(({ kind }: { kind: string }) => kind)).not.toBe(true);
  });

  test("needs proof once another program has changed anything of it, though that is known by now", async () => {
    const version = await save(50);
    const before = await rig.other.stat("a");
    await rig.clock.advance(5);
    await rig.other.setStat("a", { mode: before.mode ^ 0o100 });
    const isReported = async (): Promise<boolean> => (await rig.volume.meta.node(node))?.mode !== before.mode;
    for (let ms = 0; ms < 1_500 && !(await isReported()); ms += 50) await rig.clock.advance(50);
    expect(await isReported()).toBe(true);
    expect(await isSettled(version)).toBe(false);
  });

  test("by another program needs proof", async () => {
    await rig.writeFile("b", bytesOf(3, SIZE));
    await rig.other.setStat("b", { mtimeNs: rig.clock.wallNs() - 1_000_000_000n });
    const isReported = async (): Promise<number> => (await rig.volume.meta.lookup(ROOT_NODE, "b"))?.version ?? 0;
    for (let ms = 0; ms < 1_500 && (await isReported()) === 0; ms += 50) await rig.clock.advance(50);
    const state = await rig.volume.meta.lookup(ROOT_NODE, "b");
    expect(state?.version).toBeGreaterThan(0);
    expect(await isSettled({ node: state?.node ?? 0, seq: state?.version ?? 0 })).toBe(false);
  });
});

test("a content that waits to be applied needs no digest where what it copies from needs none", async () => {
  await save(50);
  const isFull = (operation: string, path: string): "NoSpace" | undefined =>
    operation === "write" && path.includes("temp") ? "NoSpace" : undefined;
  rig.disk.fault = isFull;
  const waiting = await save(50, async () => undefined);
  expect(await isSettled(waiting)).toBe(true);
  rig.disk.fault = undefined;
  await rig.settle();
  await save(-50);
  await rig.clock.advance(100);
  rig.disk.fault = isFull;
  expect(await isSettled(await save(50, async () => undefined))).toBe(false);
  rig.disk.fault = undefined;
  await rig.settle();
});

test.each([
  [10n, 20n, 30n, true],
  [20n, 20n, 30n, false],
  [25n, 20n, 30n, false],
  [30n, 20n, 30n, false],
  [31n, 20n, 30n, true],
])("with an mtime of %d and a ctime of %d a write until %d shows: %s", async (mtimeNs, ctimeNs, nowNs, shows) => {
  expect(wouldShow({ ...(await rig.other.stat("a")), mtimeNs, ctimeNs }, nowNs)).toBe(shows);
});
