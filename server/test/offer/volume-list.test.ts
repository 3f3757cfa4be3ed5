// The list of volumes that were made while a server ran: what of it a crash, damage or a newer Runnel leaves.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type DiskRoot, SimulatedClock, SimulatedDisk, readWhole, replaceWhole } from "@runnel/shared";
import { VOLUME_LIST, readVolumeList, writeVolumeList } from "../../src/offer/volume-list.ts";

const DOCS = { name: "docs", folder: "/srv/docs", madeMs: 1_000, isStopped: false };
const PLANS = { name: "plans", folder: "/srv/plans", madeMs: 2_000, isStopped: true };

let root: DiskRoot;

beforeEach(async () => {
  const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  root = await disk.openRoot("/data/_server", { permissions: 0o700 });
});

describe("the list of volumes", () => {
  test("[F200] is read as it was written, for this user only", async () => {
    await writeVolumeList(root, [DOCS, PLANS]);
    expect(await readVolumeList(root)).toEqual([DOCS, PLANS]);
    expect((await root.stat(VOLUME_LIST)).mode & 0o777).toBe(0o600);
  });

  test("[F200] of nothing is empty", async () => {
    expect(await readVolumeList(root)).toEqual([]);
  });

  test.each([
    ["a newer format", '{"format":2,"volumes":[]}', "Version"],
    ["damage", '{"format":1,"volu', "Corrupt"],
    ["a folder that is not absolute", JSON.stringify({ format: 1, volumes: [{ ...DOCS, folder: "docs" }] }), "Corrupt"],
    ["a name that no volume has", JSON.stringify({ format: 1, volumes: [{ ...DOCS, name: "../x" }] }), "Corrupt"],
  ])("[F200] with %s is refused and left as it is", async (_title, text, kind) => {
    await replaceWhole(root, VOLUME_LIST, text);
    await expect(readVolumeList(root)).rejects.toMatchObject({ kind });
    expect(await readWhole(root, VOLUME_LIST)).toBe(text);
  });
});
