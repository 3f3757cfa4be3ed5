// A stick that fails, or is pulled out, at each step of what is carried: a real drive and a server on simulated time,
// and a stick on a disk that fails. Bytes on the line, and a stick with a file system of its own: supplies.test.ts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Carrier, decodeManifest } from "@runnel/app/internals";
import { inlineExecutor } from "@runnel/native";
import { type DiskRoot, ROOT_NODE, RunnelError, SimulatedDisk, digestAt, isRunnelError } from "@runnel/shared";
import { packedChunks } from "@runnel/shared/supply";
import { SimulatedPlace, noiseOf } from "../src/simulation/index.ts";

const KiB = 1024;
const FILES = { film: noiseOf(1, 100 * KiB), music: noiseOf(2, 70 * KiB), notes: noiseOf(3, 5 * KiB) };
const ALL_BYTES = 175 * KiB;
/** Bytes of the files whose chunks come after what says which they are. */
const STICK_BYTES = 170 * KiB;
const STICK = "/stick";
const DEADLINE_MS = 300_000;
const executor = inlineExecutor();

let place: SimulatedPlace;
let workFolder: string;

beforeEach(async () => {
  place = new SimulatedPlace(1, { delayMs: 10, bytesPerSecond: 1_000_000 });
  await place.open(FILES);
  workFolder = mkdtempSync(join(tmpdir(), "runnel-stick-"));
}, DEADLINE_MS);

afterEach(async () => {
  await place.close();
  rmSync(workFolder, { recursive: true, force: true });
}, DEADLINE_MS);

async function newStick(seed: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ clock: place.clock, seed });
  const root = await disk.openRoot(STICK, { permissions: 0o755 });
  await root.close();
  return disk;
}

/** Fails at its n-th operation, and at all that follow where it `isPulledOut`; tells whether it came to that. */
function failAt(disk: SimulatedDisk, n: number, isPulledOut: boolean): () => boolean {
  let count = 0;
  disk.fault = () => {
    const at = count++;
    return at === n || (isPulledOut && at > n) ? "Io" : undefined;
  };
  return () => count > n;
}

function request(progress = (): void => undefined) {
  return { dir: STICK, device: "here", signal: new AbortController().signal, progress };
}

function carrierTo(disk: SimulatedDisk): Carrier {
  return new Carrier({ disk, executor, clock: place.clock, workFolder });
}

/** Carries all out; resolves to what came of it, or the failure. */
function carryOut(disk: SimulatedDisk) {
  const drives = [{ carrying: place.mount.carrying, paths: [""] }];
  return orFailure(carrierTo(disk).carryOut({ ...request(), drives, devices: [] }));
}

function carryIn(disk: SimulatedDisk) {
  return orFailure(carrierTo(disk).carryIn({ ...request(), drives: [place.mount.carrying] }));
}

async function orFailure<T>(work: Promise<T>): Promise<{ done?: T; failure?: RunnelError }> {
  try {
    return { done: await place.run(work) };
  } catch (failure) {
    if (!isRunnelError(failure)) throw failure;
    return { failure };
  }
}

/** All of the drive is right, nothing waits, nothing is a problem. */
async function mustBeUnharmed(): Promise<void> {
  const program = place.drive.program();
  for (const [path, bytes] of Object.entries(FILES)) {
    const fd = await place.run(program.open(path, 0));
    const parts: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += 64 * KiB)
      parts.push(await place.run(program.read(fd, at, Math.min(64 * KiB, bytes.length - at))));
    await place.run(program.close(fd));
    expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
    expect((await place.run(place.volume.meta.lookup(ROOT_NODE, path)))?.sizeBytes).toBe(bytes.length);
  }
  expect(await place.run(place.mount.status(false))).toMatchObject({ unsentFiles: 0, problems: [], conflicts: [] });
}

async function filesIn(root: DiskRoot, folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    await root.list(folder, (entries) => entries.forEach(({ name }) => names.push(`${folder}/${name ?? ""}`)));
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
  return names;
}

/**
 * Each pack that has an index is as that says, and each file of a manifest is in them.
 * @returns the chunks, and what is no part of a stick.
 */
async function mustBeWhole(disk: SimulatedDisk): Promise<{ chunks: string[]; unfinished: string[] }> {
  const root = await disk.openRoot(STICK);
  const [packs, manifests, lists] = [
    await filesIn(root, "runnel-carry/packs"),
    await filesIn(root, "runnel-carry/manifests"),
    await filesIn(root, "runnel-carry/inventories"),
  ];
  const chunks: string[] = [];
  for (const path of packs.filter((each) => each.endsWith(".index"))) {
    const pack = await root.readFile(path.replace(".index", ".pack"), 1024 * KiB);
    const placed = await packedChunks(root, path.replace(".index", ".pack"), pack.length, executor);
    for (const { digest, offset, length } of placed) {
      const found = await executor.digest([pack.subarray(offset, offset + length)]);
      expect(Buffer.compare(found, digest)).toBe(0);
      chunks.push(Buffer.from(digest).toString("hex"));
    }
  }
  for (const path of manifests.filter((each) => each.endsWith(".json"))) {
    const { versions } = decodeManifest(await root.readFile(path, 1024 * KiB));
    for (const [, , , name] of versions) {
      const { lengths, digests } = await executor.chunkBytes(FILES[name as keyof typeof FILES], 0);
      const ofFile = [...lengths.keys()].map((at) => Buffer.from(digestAt({ lengths, digests }, at)).toString("hex"));
      expect(ofFile.filter((chunk) => !chunks.includes(chunk))).toEqual([]);
    }
  }
  await root.close();
  const hasIndex = (path: string): boolean => packs.includes(path.replace(".pack", ".index"));
  const unfinished = [...packs, ...manifests, ...lists].filter(
    (path) => path.endsWith(".new") || (path.endsWith(".pack") && !hasIndex(path)),
  );
  return { chunks, unfinished };
}

async function evictAll(): Promise<void> {
  for (const path of Object.keys(FILES)) await place.run(place.mount.evict(path));
}

test(
  "[F220] a stick that is pulled out once carry out is done has all, whatever it had not been told to keep",
  async () => {
    for (let seed = 0; seed < 20; seed++) {
      const stick = await place.run(newStick(seed));
      const synced = new Set<string>();
      stick.fault = (operation, path) => {
        if (operation === "syncFolder") synced.add(path);
        return undefined;
      };
      expect((await carryOut(stick)).done).toMatchObject({ files: 3, failed: 0 });
      // This disk keeps a folder for what was synced in it; others may not.
      expect([...synced].toSorted().slice(0, 2)).toEqual(["", "runnel-carry"]);
      stick.fault = undefined;
      stick.crash();
      await evictAll();
      expect((await carryIn(stick)).done).toMatchObject({ files: 3, failed: 0, sparedBytes: STICK_BYTES });
    }
  },
  DEADLINE_MS,
);

describe.each([
  ["fails once", false],
  ["is pulled out", true],
])("A stick that %s at any step", (_what, isPulledOut) => {
  test(
    "[F220] of carry out says so, has what was written whole, and takes the rest the next time",
    async () => {
      let failures = 0;
      for (let n = 0, isReached = true; isReached; n++) {
        const stick = await place.run(newStick(n));
        const wasReached = failAt(stick, n, isPulledOut);
        const { done, failure } = await carryOut(stick);
        isReached = wasReached();
        stick.fault = undefined;
        if (isPulledOut || done !== undefined) stick.crash();
        if (failure !== undefined) {
          failures++;
          expect(failure.message).toContain(STICK);
          expect(failure.message).toContain("run the same");
        }
        const { chunks } = await place.run(mustBeWhole(stick));
        if (done !== undefined) {
          expect(done).toMatchObject({ files: 3, bytes: ALL_BYTES, failed: 0 });
          expect(chunks.length).toBeGreaterThan(10);
        }
        await mustBeUnharmed();

        const again = await carryOut(stick);
        expect(again.done).toMatchObject({ files: 3, bytes: ALL_BYTES, failed: 0 });
        const whole = await place.run(mustBeWhole(stick));
        expect(whole.unfinished).toEqual([]);
        expect(new Set(whole.chunks).size).toBe(whole.chunks.length);
        await evictAll();
        expect((await carryIn(stick)).done).toMatchObject({ files: 3, failed: 0, sparedBytes: STICK_BYTES });
      }
      expect(failures).toBeGreaterThan(20);
    },
    DEADLINE_MS,
  );

  test(
    "of carry in says so or is not needed any more, harms nothing, and brings the rest the next time",
    async () => {
      const stick = await place.run(newStick(1));
      expect((await carryOut(stick)).failure).toBeUndefined();
      let failures = 0;
      for (let n = 0, isReached = true; isReached; n++) {
        await evictAll();
        const wasReached = failAt(stick, n, isPulledOut);
        const { done, failure } = await carryIn(stick);
        isReached = wasReached();
        stick.fault = undefined;
        if (isPulledOut) stick.crash();
        if (failure !== undefined) {
          failures++;
          expect(failure.message).toContain(STICK);
          expect(failure.message).toContain("run the same");
        } else if (done?.failed === 0) {
          expect(done).toMatchObject({ files: 3, bytes: ALL_BYTES });
          // The rest of a stick that is gone does not come over the line.
          if (isPulledOut) expect(done.sparedBytes).toBe(STICK_BYTES);
        } else expect(done?.failures).toMatchObject([{ path: expect.stringContaining(`${STICK}/runnel-carry/`) }]);
        await place.run(mustBeWhole(stick));
        const again = await carryIn(stick);
        expect(again.done).toMatchObject({ failed: 0 });
        expect((again.done?.files ?? 0) + (again.done?.alreadyHere ?? 0)).toBe(3);
        await mustBeUnharmed();
      }
      expect(failures).toBeGreaterThan(isPulledOut ? 5 : 2);
    },
    DEADLINE_MS,
  );
});
