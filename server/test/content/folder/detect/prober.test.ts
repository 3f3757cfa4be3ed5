// Names that no probe takes for a part of the volume.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
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
});
