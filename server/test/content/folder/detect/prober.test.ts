// Names that no probe takes for a part of the volume.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { DiskRows } from "../../../../src/content/folder/disk/disk-rows.ts";
import { FOLDER, type TestVolume, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

describe("a probe", () => {
  test("[F20] never finds a store's own folder, wherever it lies", async () => {
    await started();
    await volume.other.makeFolder("deep");
    await volume.other.makeFolder("deep/.runnel-store");
    await volume.writeFile("deep/.runnel-store/hidden", "1");
    await volume.settle();
    expect([...(await volume.tree()).keys()]).toEqual(["deep"]);
  });

  test("passes over a folder on another file system, and takes nothing below it for removed", async () => {
    await started();
    await volume.other.makeFolder("disk");
    await volume.writeFile("disk/file", "1");
    await volume.settle();
    volume.disk.mountOver(`${FOLDER}/disk`);
    await volume.store.scan();
    await volume.settle();
    expect((await volume.meta.list(ROOT_NODE, "", 10)).map(({ name }) => name)).toEqual(["disk"]);
    expect(volume.store.status().excluded.examples).toContain("disk (another file system)");
  });

  test("gets to its end where a file system was mounted over names that had moved or whose rows were lost", async () => {
    await started();
    const disk = await volume.make(ROOT_NODE, "disk", { type: "folder", mode: 0o755 });
    for (const name of ["moved", "linked", "lost"]) await volume.file(disk, name, name);
    await volume.settle();
    const rows = new DiskRows(volume.meta);
    const row = await rows.get(disk, "lost");
    if (row !== undefined) rows.remove(row);
    await rows.store((await volume.meta.facts()).appliedSeq);
    await volume.store.close();
    await volume.other.rename("disk/moved", "moved", "keep");
    await volume.other.link("disk/linked", "linked");
    volume.disk.mountOver(`${FOLDER}/disk`);
    await volume.start();
    await volume.settle(10_000);
    expect(volume.store.status().isScanning).toBe(false);
    const names = ["disk", "disk/linked", "disk/lost", "linked", "moved"];
    expect([...(await volume.tree()).keys()].sort()).toEqual(names);
  });
});
