// Commits that meet what another program did at the same moment: both are kept, the committed version is current.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { TestVolume } from "./test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function served(): Promise<TestVolume> {
  volume = new TestVolume();
  await volume.fillFirst(async ({ other }) => {
    await volume.writeFile("file", "first");
    await other.makeFolder("folder");
    await volume.writeFile("folder/in", "inside");
  });
  await volume.start();
  await volume.settle();
  return volume;
}

/** Applying waits: the disk fails for the engine while other programs and commits go on. */
async function meanwhile(work: () => Promise<void>, others: () => Promise<void>): Promise<void> {
  volume.disk.fault = (operation) =>
    operation === "open" || operation === "rename" || operation === "makeFolder" ? "NoSpace" : undefined;
  await work();
  await volume.clock.advance(0);
  volume.disk.fault = undefined;
  await others();
  await volume.settle();
}

async function nodeOf(folder: number, name: string): Promise<number> {
  return (await volume.meta.lookup(folder, name))?.node ?? 0;
}

async function expectInStep(): Promise<void> {
  expect(await volume.tree()).toEqual(await volume.files());
  expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined, isScanning: false });
}

/** The committed tree and the folder without the stamp in conflict names. */
async function shown(): Promise<Record<string, string>> {
  const files = await volume.files();
  return Object.fromEntries([...files].map(([path, text]) => [path.replace(/\(conflict [^)]*\)/, "(conflict)"), text]));
}

describe("a commit and another program's change at the same moment", () => {
  test.each(["file", "too"])(
    "[F29] write and removal of one of its names (%s): no content diverged",
    async (removed) => {
      await served();
      const node = await nodeOf(ROOT_NODE, "file");
      const old = (await volume.meta.lookup(ROOT_NODE, "file"))?.version ?? 0;
      await volume.other.link("file", "too");
      await volume.settle();
      await meanwhile(
        async () => void (await volume.write(node, "committed")),
        () => volume.other.removeFile(removed),
      );
      expect(await shown()).toMatchObject({ file: "file committed", too: "file committed" });
      expect([...(await volume.files()).keys()].filter((path) => path.includes("conflict"))).toEqual([]);
      expect(await volume.store.notices()).toEqual([]);
      expect(await volume.readVersion(node, old)).not.toBe("committed");
      await expectInStep();
    },
  );

  test("[F29] write and write in place: the program's content is kept as a conflict copy", async () => {
    await served();
    const node = await nodeOf(ROOT_NODE, "file");
    const old = (await volume.meta.lookup(ROOT_NODE, "file"))?.version ?? 0;
    await meanwhile(
      async () => void (await volume.write(node, "committed")),
      () => volume.writeFile("file", "in place"),
    );
    expect(await shown()).toMatchObject({ file: "file committed", "file (conflict)": "file in place" });
    expect(await volume.notices("conflict")).toMatchObject([
      { path: "file", conflictCopy: expect.stringContaining("conflict") },
    ]);
    expect(await volume.notices("lost")).toMatchObject([{ path: "file", node, seq: old, versions: 1 }]);
    await expectInStep();
  });

  test("[F29] write and write in place whose size and time are the old ones: it is not taken for the old version", async () => {
    await served();
    const { mtimeNs } = await volume.other.stat("file");
    await meanwhile(
      async () => void (await volume.write(await nodeOf(ROOT_NODE, "file"), "committed")),
      async () => {
        await volume.clock.advance(1);
        await volume.writeFile("file", "FIRST");
        await volume.other.setStat("file", { mtimeNs });
      },
    );
    expect(await shown()).toMatchObject({ file: "file committed", "file (conflict)": "file FIRST" });
    await expectInStep();
  });

  test("[F29] write and save by rename: the program's file is kept as a conflict copy", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.write(await nodeOf(ROOT_NODE, "file"), "committed")),
      async () => {
        await volume.writeFile("new", "replaced");
        await volume.other.rename("new", "file", "replace");
      },
    );
    expect(await shown()).toMatchObject({ file: "file committed", "file (conflict)": "file replaced" });
    await expectInStep();
  });

  test.each<[string, (node: number) => Promise<unknown>]>([
    ["write", (node) => volume.write(node, "committed")],
    ["removal", () => volume.remove(ROOT_NODE, "file")],
    ["rename over it", () => volume.rename(ROOT_NODE, "source", ROOT_NODE, "file")],
  ])(
    "[F29] %s and a write of as many bytes whose time was set back: the program's are kept beside",
    async (_what, act) => {
      await served();
      const node = await nodeOf(ROOT_NODE, "file");
      const { mtimeNs } = await volume.other.stat("file");
      await volume.file(ROOT_NODE, "source", "committed");
      await volume.settle();
      await meanwhile(
        async () => {
          // Commits behind wait for it, and are not begun.
          await volume.file(ROOT_NODE, "first", "1");
          await act(node);
        },
        async () => {
          await volume.writeFile("file", "OTHER");
          await volume.other.setStat("file", { mtimeNs });
        },
      );
      expect(Object.values(await shown())).toContain("file OTHER");
      expect(await volume.notices("conflict")).toMatchObject([{ path: "file" }]);
      await expectInStep();
    },
  );

  test("write and removal: the committed version is there", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.write(await nodeOf(ROOT_NODE, "file"), "committed")),
      () => volume.other.removeFile("file"),
    );
    expect(await shown()).toMatchObject({ file: "file committed" });
    await expectInStep();
  });

  test("write and rename: the version goes with the name", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.write(await nodeOf(ROOT_NODE, "file"), "committed")),
      () => volume.other.rename("file", "renamed", "keep"),
    );
    await expectInStep();
    expect(Object.values(await shown())).toContain("file committed");
  });

  test("[F29] make and make: the program's file is kept as a conflict copy", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.file(ROOT_NODE, "new", "committed")),
      () => volume.writeFile("new", "other"),
    );
    expect(await shown()).toMatchObject({ new: "file committed", "new (conflict)": "file other" });
    await expectInStep();
  });

  test("make folder and make folder: they are one", async () => {
    await served();
    await meanwhile(
      async () => {
        const folder = await volume.make(ROOT_NODE, "both", { type: "folder" });
        await volume.file(folder, "committed", "1");
      },
      async () => {
        await volume.other.makeFolder("both");
        await volume.writeFile("both/other", "2");
      },
    );
    expect(await shown()).toMatchObject({ both: "folder", "both/committed": "file 1", "both/other": "file 2" });
    await expectInStep();
  });

  test("[F29] remove and write: what the program wrote stays", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.remove(ROOT_NODE, "file")),
      () => volume.writeFile("file", "written since"),
    );
    expect(await shown()).toMatchObject({ "file (conflict)": "file written since" });
    await expectInStep();
  });

  test("remove folder and make in it: the folder comes back as a new one, with what is in it", async () => {
    await served();
    const folder = await nodeOf(ROOT_NODE, "folder");
    await meanwhile(
      async () => {
        await volume.remove(folder, "in");
        await volume.remove(ROOT_NODE, "folder");
      },
      () => volume.writeFile("folder/other", "kept"),
    );
    expect(await shown()).toMatchObject({ folder: "folder", "folder/other": "file kept" });
    expect(await nodeOf(ROOT_NODE, "folder")).not.toBe(folder);
    await expectInStep();
  });

  test("make in a folder and removal of the folder: the folder is made again", async () => {
    await served();
    const folder = await nodeOf(ROOT_NODE, "folder");
    await meanwhile(
      async () => void (await volume.file(folder, "new", "committed")),
      async () => {
        await volume.other.removeFile("folder/in");
        await volume.other.removeFolder("folder");
      },
    );
    expect(await shown()).toMatchObject({ folder: "folder", "folder/new": "file committed" });
    await expectInStep();
  });

  test("rename and rename: one of both names has the file", async () => {
    await served();
    await meanwhile(
      async () => void (await volume.rename(ROOT_NODE, "file", ROOT_NODE, "mine")),
      () => volume.other.rename("file", "theirs", "keep"),
    );
    expect(Object.entries(await shown()).filter(([, text]) => text === "file first")).toHaveLength(1);
    await expectInStep();
  });

  test("rename over and write to what is replaced: the program's content is kept as a conflict copy", async () => {
    await served();
    const other = await volume.file(ROOT_NODE, "source", "moved");
    await volume.settle();
    await meanwhile(
      async () => void (await volume.rename(ROOT_NODE, "source", ROOT_NODE, "file")),
      () => volume.writeFile("file", "in place"),
    );
    expect(await shown()).toMatchObject({ file: "file moved", "file (conflict)": "file in place" });
    expect(await nodeOf(ROOT_NODE, "file")).toBe(other);
    await expectInStep();
  });

  test.each<[string, "incomplete" | "destroyed", string]>([
    ["what else there is of it lies beside", "incomplete", " end"],
    ["nothing of it is left", "destroyed", ""],
  ])(
    "copied bytes that a program destroys before the commit is applied are lost, and the program's content is current: %s, which is told",
    async (_what, kind, text) => {
      await served();
      const node = await nodeOf(ROOT_NODE, "file");
      const base = (await volume.meta.lookup(ROOT_NODE, "file"))?.version ?? 0;
      let seq = 0;
      await meanwhile(
        async () => {
          const copied = { from: "version" as const, version: { node, seq: base }, offset: 0, length: 5 };
          const own = { from: "log" as const, at: 0, length: text.length };
          const runs = text === "" ? [copied] : [copied, own];
          ({ seq } = await volume.write(node, text, { runs, sizeBytes: 5 + text.length }));
          expect(await volume.readVersion(node, seq).catch(() => "")).toBe("");
        },
        () => volume.writeFile("file", ""),
      );
      await volume.settle(20_000);
      const reported = (await volume.store.notices()).filter((notice) => notice.kind !== "lost");
      expect(reported).toMatchObject([{ kind, path: "file" }]);
      // The version before it, which had been in its plain file, is another matter.
      expect(await volume.notices("lost")).toMatchObject([{ path: "file", node, seq: base }]);
      await expect(volume.readVersion(node, seq)).rejects.toMatchObject({ kind: "Lost" });
      expect(await shown()).toMatchObject({ file: "file " });
      await expectInStep();
    },
  );
});

describe("what a probe has found", () => {
  test("[F30] does not report a name that a commit has bound since, though another has freed it again", async () => {
    await served();
    volume.beforeExternal = async () => {
      volume.beforeExternal = undefined;
      await volume.file(ROOT_NODE, "temp", "saved");
      await volume.rename(ROOT_NODE, "temp", ROOT_NODE, "file");
    };
    await volume.writeFile("temp", "another program's");
    await volume.settle(30_000);
    await expectInStep();
    const files = await volume.files();
    expect(files.get("file")).toBe("file saved");
    expect([...files.values()]).toContain("file another program's");
    expect(files.has("temp")).toBe(false);
  });
});

describe("a scan with pending commits", () => {
  test("[F30] invents no removal and no creation", async () => {
    await served();
    const before = volume.externals.length;
    volume.disk.fault = (operation, path) =>
      operation === "open" && path.startsWith(".runnel-store/temp") ? "NoSpace" : undefined;
    const folder = await nodeOf(ROOT_NODE, "folder");
    await volume.file(folder, "made", "1");
    await volume.remove(ROOT_NODE, "file");
    await volume.rename(folder, "in", folder, "out");
    await volume.write(await nodeOf(folder, "out"), "2");
    const scanned = volume.store.scan();
    await volume.clock.advance(5000);
    await scanned;
    expect(volume.store.status().stuck).toMatchObject({ kind: "NoSpace", path: "folder/made" });
    expect(volume.externals.slice(before)).toEqual([]);
    volume.disk.fault = undefined;
    await volume.settle(30_000);
    await expectInStep();
  });
});
