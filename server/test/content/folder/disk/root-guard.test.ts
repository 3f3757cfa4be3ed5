// A folder that may be another one than the volume's: without its marker, moved away, or a copy.
import { afterEach, describe, expect, test } from "@jest/globals";
import type { DiskEntry } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { FOLDER, TestVolume, folderStore, namesIn, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

/** Makes a copy, as `cp -a` does, of what was moved away, in the folder's place. */
async function copyOf({ disk }: TestVolume): Promise<void> {
  const [from, to] = [await disk.openRoot("/srv/away"), await disk.openRoot(FOLDER)];
  const copy = async (path: string): Promise<void> => {
    const found: DiskEntry[] = [];
    await from.list(path, (entries) => void found.push(...entries));
    for (const { name, stat } of found) {
      const at = path === "" ? `${name}` : `${path}/${name}`;
      if (stat.type === "folder") {
        await to.makeFolder(at);
        await copy(at);
        continue;
      }
      const [source, target] = [await from.open(at, "read"), await to.open(at, "createNew", stat.mode)];
      await target.write(0, await source.read(0, stat.sizeBytes));
      await target.setStat({ mtimeNs: stat.mtimeNs });
      await source.close();
      await target.close();
    }
  };
  await copy("");
}

describe("a folder that may be another one", () => {
  test("[F21] without its marker is unavailable, never empty, and is served again when the marker is back", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.file(ROOT_NODE, "gone", "text");
    await volume.settle();
    await volume.other.rename(".runnel-store/volume", ".runnel-store/away", "keep");
    await volume.other.removeFile("gone");
    await volume.write(node, "while away");
    await volume.clock.advance(5000);
    await expect(volume.store.checkRoot()).rejects.toMatchObject({ kind: "Unavailable" });
    expect(volume.removals).toEqual([expect.stringContaining("marker")]);
    expect([...(await volume.tree()).keys()]).toEqual(["file", "gone"]);
    await expect(volume.store.open({ node, seq: 3 })).rejects.toMatchObject({ kind: "Unavailable" });
    expect(volume.store.status()).toMatchObject({ pendingCommits: 1, stuck: { path: "file", kind: "Unavailable" } });
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable" });
    await volume.other.rename(".runnel-store/away", ".runnel-store/volume", "keep");
    await volume.start();
    await volume.settle();
    expect(await volume.tree()).toEqual(new Map([["file", "file while away"]]));
    expect(await volume.store.notices()).toEqual([]);
  });

  test("[F21] is not begun with when it has no marker but was served", async () => {
    volume = new TestVolume(1, folderStore({ wasServed: true }));
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable", message: /marker/ });
    expect(volume.externals).toEqual([]);
    expect(await namesIn(volume.other, "")).toEqual([]);
    await volume.other.makeFolder(".runnel-store");
    await volume.writeFile("file", "text");
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 1, volume: "volume 1" }));
    await volume.start();
    await volume.settle();
    expect([...(await volume.tree()).keys()]).toEqual(["file"]);
  });

  test("[F21] of another volume is unavailable", async () => {
    await started();
    await volume.writeFile(".runnel-store/volume", JSON.stringify({ format: 1, volume: "volume 2" }));
    await volume.store.close();
    await expect(volume.start()).rejects.toMatchObject({ kind: "Unavailable", message: /another volume/ });
  });

  test.each(["nothing", "a copy", "an empty folder"])(
    "[F110] that is moved away is found gone by its path, with %s in its place",
    async (instead) => {
      await started();
      await volume.file(ROOT_NODE, "file", "text");
      await volume.settle();
      const above = await volume.disk.openRoot("/srv");
      await above.rename("docs", "away", "keep");
      if (instead !== "nothing") await above.makeFolder("docs");
      if (instead === "a copy") await copyOf(volume);
      await volume.other.removeFile("file");
      await volume.clock.advance(2000);
      await expect(volume.store.checkRoot()).rejects.toMatchObject({ kind: "Unavailable" });
      expect(volume.removals).toHaveLength(1);
      expect([...(await volume.tree()).keys()]).toEqual(["file"]);
      await volume.store.close();
      if (instead === "nothing") {
        await above.rename("away", "docs", "keep");
        await volume.writeFile("file", "text");
      }
      const starting = volume.start();
      if (instead === "an empty folder") return expect(starting).rejects.toMatchObject({ kind: "Unavailable" });
      await starting;
      await volume.settle();
      expect(await volume.tree()).toEqual(new Map([["file", "file text"]]));
      return undefined;
    },
  );

  test("[F111] reports nothing as applied, and nothing staged as saved, that went into a folder moved away a moment before", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.settle();
    const appliedSeqs = volume.appliedSeqs.length;
    const staged = await volume.store.stage();
    await staged.write(0, Buffer.from("staged"));
    const above = await volume.disk.openRoot("/srv");
    await above.rename("docs", "away", "keep");
    await above.makeFolder("docs");
    await copyOf(volume);
    await expect(staged.sync(6)).rejects.toMatchObject({ kind: "Unavailable" });
    await volume.write(node, "acknowledged");
    await volume.clock.advance(2000);
    expect(volume.appliedSeqs).toHaveLength(appliedSeqs);
    await volume.store.close();
    await volume.start();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("acknowledged");
  });

  test("[F112] that is a copy gets what was half done in the one it was made of", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "text");
    await volume.settle();
    volume.disk.fault = (operation, path) => (operation === "rename" && !path.includes("staged") ? "Io" : undefined);
    await volume.write(node, "acknowledged");
    await volume.make(ROOT_NODE, "made");
    await volume.clock.advance(1000);
    expect(volume.log.filter(({ kind }) => kind === "handle").length).toBeGreaterThan(0);
    volume.kill();
    volume.disk.fault = undefined;
    const above = await volume.disk.openRoot("/srv");
    await above.rename("docs", "away", "keep");
    await above.makeFolder("docs");
    await copyOf(volume);
    await volume.restart();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("acknowledged");
    expect((await volume.tree()).get("made")).toBe("file ");
    expect(await namesIn(volume.other, ".runnel-store/temp")).toEqual([]);
  });
});
