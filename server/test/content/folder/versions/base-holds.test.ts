// Holds on what commits copy: how many files they keep open, and that one that ends takes nothing from the next.
import { expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { SimulatedClock, SimulatedDisk } from "@runnel/shared";
import { BaseHolds } from "../../../../src/content/folder/versions/base-holds.ts";
import { FileSource } from "../../../../src/content/folder/versions/file-source.ts";
import { TEMP_FOLDER } from "../../../../src/content/folder/disk/store-layout.ts";

const BYTES = Buffer.from("what is copied");
const ALL = [{ offset: 0, length: BYTES.length }];

async function opened(): Promise<{
  clock: SimulatedClock;
  disk: SimulatedDisk;
  root: DiskRoot;
  holds: BaseHolds;
  keep(seq: number): Promise<boolean>;
}> {
  const clock = new SimulatedClock();
  const disk = new SimulatedDisk({ clock, seed: 1 });
  const root = await disk.openRoot("/served", { permissions: 0o755 });
  await root.makeFolder(TEMP_FOLDER.split("/")[0] ?? "");
  await root.makeFolder(TEMP_FOLDER);
  const holds = new BaseHolds({ root, isCopied: () => false });
  const keep = async (seq: number): Promise<boolean> => {
    const file = await root.open(`file ${seq}`, "create");
    await file.write(0, BYTES);
    await file.close();
    const stat = await root.stat(`file ${seq}`);
    holds.promise({ node: 2, seq });
    return holds.keep(
      { node: 2, seq },
      BYTES.length,
      ALL,
      () => FileSource.open(root, `file ${seq}`, stat),
      async (target, offset, length) => {
        await target.write(offset, BYTES.subarray(offset, offset + length));
        return true;
      },
    );
  };
  return { clock, disk, root, holds, keep };
}

async function copies(root: DiskRoot): Promise<string[]> {
  const names: string[] = [];
  await root.list(TEMP_FOLDER, (entries) => {
    for (const { name } of entries) names.push(name ?? "");
  });
  return names;
}

test("[F160] so many files are open at most: what is beyond is copied", async () => {
  const { root, holds, keep } = await opened();
  for (let seq = 1; seq <= 256; seq++) expect(await keep(seq)).toBe(true);
  expect(await copies(root)).toEqual([]);
  expect(await keep(257)).toBe(true);
  expect(await copies(root)).toEqual(["base-2.257"]);
  expect(Buffer.from((await holds.get({ node: 2, seq: 257 })?.read(5, 4)) ?? []).toString()).toBe("is c");
  // A hold that ends makes space.
  await holds.release({ node: 2, seq: 1 });
  expect(await keep(258)).toBe(true);
  expect(await copies(root)).toEqual(["base-2.257"]);
  await holds.close();
});

test("[F160] a hold that begins while the one before ends has its copy", async () => {
  const { clock, disk, root, holds, keep } = await opened();
  for (let seq = 1; seq <= 257; seq++) await keep(seq);
  disk.delayMs = (operation) => (operation === "removeFile" ? 1000 : 0);
  const ending = holds.release({ node: 2, seq: 257 });
  const again = keep(257);
  await clock.advance(2000);
  await ending;
  expect(await again).toBe(true);
  disk.delayMs = () => 0;
  expect(await copies(root)).toEqual(["base-2.257"]);
  await holds.release({ node: 2, seq: 257 });
  expect(await copies(root)).toEqual([]);
  await holds.close();
});
