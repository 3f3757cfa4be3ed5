// Names of a volume as the console shows them: from the index, by name, and never from anywhere else.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { browseVolume } from "../../src/overview/browse-volume.ts";
import { VolumeRig } from "../volume/volume-rig.ts";

let rig: VolumeRig;

beforeEach(async () => {
  rig = await VolumeRig.open();
  for (const name of ["a", "b", "c"]) await rig.run(rig.file(ROOT_NODE, name, `content of ${name}`));
});

afterEach(() => rig.close());

describe("browsing", () => {
  test("lists a folder by name, page by page", async () => {
    const first = await browseVolume(rig.volume, "", { limit: 2 });
    expect(first.rows.map(({ name, kind, bytes }) => [name, kind, bytes])).toEqual([
      ["a", "file", 12],
      ["b", "file", 12],
    ]);
    expect(first.after).toBe("b");
    expect(await browseVolume(rig.volume, "", { after: "b", limit: 2 })).toMatchObject({
      rows: [{ name: "c" }],
      after: null,
    });
  });

  test.each([
    ["..", "NotFound"],
    ["../..", "NotFound"],
    [".", "NotFound"],
    [".runnel-store", "NotFound"],
    ["nothing", "NotFound"],
    ["a/b", "NotFolder"],
    ["a", "NotFolder"],
  ])("%s leads nowhere", async (path, kind) => {
    await expect(browseVolume(rig.volume, path)).rejects.toMatchObject({ kind });
  });
});

describe("what a volume holds", () => {
  test("is counted in the background, and again when it has changed and the count is old", async () => {
    const { usage } = rig.volume;
    expect(usage.look()).toBeUndefined();
    await rig.run(usage.whenCounted());
    expect(usage.look()).toMatchObject({ files: 3, folders: 0, bytes: 36 });
    await rig.run(rig.file(ROOT_NODE, "d", "more"));
    expect(usage.look()).toMatchObject({ files: 3 });
    await rig.clock.advance(60_000);
    const old = usage.look();
    expect(old?.files).toBe(3);
    expect(old?.ageMs).toBeGreaterThan(50_000);
    await rig.run(usage.whenCounted());
    expect(usage.look()).toMatchObject({ files: 4, bytes: 40 });
  });
});
