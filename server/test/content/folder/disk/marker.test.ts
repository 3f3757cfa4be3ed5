// The marker of a volume: what it says, and what it says of a volume within another.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { enclosingVolume } from "../../../../src/content/folder/disk/marker.ts";
import { FOLDER, type TestVolume, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

describe("a volume's marker", () => {
  test("[F22] has the format and the volume's id", async () => {
    await started();
    expect(JSON.parse(await volume.readFile(".runnel-store/volume"))).toEqual({ format: 1, volume: "volume 1" });
  });

  test("[F22] of a newer format is refused by name", async () => {
    await started();
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 2, volume: "volume 1" }));
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Version", detail: { need: 2 } });
  });

  test("[F23] of a volume inside this one excludes that by name", async () => {
    await started();
    await volume.other.makeFolder("nested");
    await volume.other.makeFolder("nested/.runnel-store");
    await volume.writeFile("nested/.runnel-store/volume", "{}");
    await volume.writeFile("nested/file", "1");
    await volume.settle();
    await volume.store.scan();
    expect(await volume.tree()).toEqual(new Map());
    expect(volume.store.status().excluded.examples).toEqual(["nested (a volume of its own)"]);
    expect(await enclosingVolume(volume.disk, `${FOLDER}/nested/below`)).toBe(`${FOLDER}/nested`);
    expect(await enclosingVolume(volume.disk, `${FOLDER}/other`)).toBe(FOLDER);
    expect(await enclosingVolume(volume.disk, FOLDER)).toBeUndefined();
  });

  test("[F23] of a volume that took the place of a file and of a folder excludes it, and these are gone, but for what moved", async () => {
    await started();
    await volume.other.makeFolder("folder");
    for (const path of ["folder/moved", "folder/removed", "file"]) await volume.writeFile(path, path);
    await volume.settle();
    const taken = ["folder", "file"];
    await volume.other.rename("folder/moved", "moved", "keep");
    for (const path of ["folder/removed", "file"]) await volume.other.removeFile(path);
    await volume.other.removeFolder("folder");
    for (const path of taken) {
      await volume.other.makeFolder(path);
      await volume.other.makeFolder(`${path}/.runnel-store`);
      await volume.writeFile(`${path}/.runnel-store/volume`, "{}");
      await volume.writeFile(`${path}/of another`, "1");
    }
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await volume.store.close();
        await volume.restart();
      }
      await volume.settle();
      expect(await volume.tree()).toEqual(new Map([["moved", "file folder/moved"]]));
      const shown = taken.map((path) => `${path} (a volume of its own)`);
      expect(new Set(volume.store.status().excluded.examples)).toEqual(new Set(shown));
      for (const path of taken)
        await expect(volume.store.checkFree(ROOT_NODE, path)).rejects.toMatchObject({ kind: "BadName" });
      expect(await volume.readFile("folder/of another")).toBe("1");
    }
  });
});
