// Reading versions while other programs write, rename and append.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import type { Run } from "../../../../src/meta/meta-store.ts";
import { openFolderStore } from "../../../../src/content/folder/folder-store.ts";
import { FOLDER, TestVolume, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

describe("reading", () => {
  test("never yields other bytes while a program writes the file in place", async () => {
    await started();
    await volume.writeFile("file", "aaaaaaaaaa");
    await volume.settle();
    const state = await volume.meta.lookup(ROOT_NODE, "file");
    const version = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    const opened = await volume.store.open(version);
    expect(opened.file).toBeDefined();
    expect(await opened.isSettled(0, opened.sizeBytes)).toBe(true);
    await volume.writeFile("file", "bbbbbbbbbb");
    await expect(opened.read(0, 10)).rejects.toMatchObject({ kind: "Stale" });
    await opened.close();
    await volume.settle();
    await expect(volume.store.open(version)).rejects.toMatchObject({ kind: "Lost" });
    expect((await volume.tree()).get("file")).toBe("file bbbbbbbbbb");
  });

  test("digests what waits to be applied wherever it lies, and trusts what only the store writes to and what is settled there", async () => {
    await started();
    const node = await volume.file(ROOT_NODE, "file", "0123456789");
    const older = { node, seq: (await volume.meta.node(node))?.version ?? 0 };
    await volume.settle();
    volume.disk.fault = (operation, path) => (operation === "write" && path.includes("temp") ? "NoSpace" : undefined);
    const runs: Run[] = [
      { from: "version", version: older, offset: 2, length: 6 },
      { from: "log", at: 0, length: 3 },
    ];
    const { version } = await volume.write(node, "new", { runs, sizeBytes: 9 });
    const opened = await volume.store.open({ node, seq: version });
    expect(opened.file).toBeUndefined();
    const ranges = [
      { offset: 1, length: 4 },
      { offset: 6, length: 3 },
      { offset: 4, length: 4 },
      { offset: 0, length: 2 },
    ];
    const executor = inlineExecutor();
    const expected = await executor.digest(["3456", "new", "67ne", "23"].map((text) => Buffer.from(text)));
    expect(await opened.digest(ranges, executor)).toEqual(expected);
    const settled = (): Promise<boolean[]> =>
      Promise.all(ranges.map(({ offset, length }) => opened.isSettled(offset, length)));
    expect(await settled()).toEqual([true, true, true, true]);
    await opened.close();
    // Makes the file's tuple young.
    await volume.other.setStat("file", { mode: 0o600 });
    await volume.clock.advance(1_500);
    const anew = await volume.store.open({ node, seq: version });
    expect(await Promise.all(ranges.map(({ offset, length }) => anew.isSettled(offset, length)))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    await anew.close();
    volume.disk.fault = undefined;
    await volume.settle(30_000);
    expect(await volume.readFile("file")).toBe("234567new");
    const up = await volume.store.open({ node, seq: version });
    expect(await up.digest(ranges, executor)).toEqual(expected);
    await up.close();
  });

  test("takes a write that ends long after its stamp for one, though the tuple was recorded in its midst", async () => {
    await started();
    await volume.writeFile("file", "aaaa");
    await volume.settle();
    const file = await volume.other.open("file", "write");
    await file.write(0, Buffer.from("bb"));
    await volume.clock.advance(1600);
    const { version = 0 } = (await volume.meta.lookup(ROOT_NODE, "file")) ?? {};
    expect(await volume.tree()).toEqual(new Map([["file", "file bbaa"]]));
    // The system stamps a file when a write begins, and tells of it when all is written.
    volume.disk.endLongWrite(FOLDER, "file", 2, Buffer.from("bb"));
    await volume.clock.advance(2000);
    const now = await volume.meta.lookup(ROOT_NODE, "file");
    expect(now?.version).toBeGreaterThan(version);
    await volume.clock.advance(10_000);
    expect((await volume.meta.lookup(ROOT_NODE, "file"))?.version).toBe(now?.version);
    await file.close();
  });

  test("yields a growing log as it was taken in, and never other bytes of a file that is rewritten", async () => {
    volume = new TestVolume(1, (parts) =>
      openFolderStore({ ...parts, executor: inlineExecutor(), settings: { volume: "volume 1" } }),
    );
    await volume.start();
    await volume.settle();
    const file = await volume.other.open("log", "createNew");
    let log = "";
    const append = async (): Promise<void> => {
      const line = `line ${log.length}\n`;
      await file.write(log.length, Buffer.from(line));
      log += line;
    };
    let version = 0;
    const grow = async (rounds: number): Promise<number> => {
      let seen = 0;
      for (let round = 0; round < rounds; round++) {
        await append();
        await volume.clock.advance(10);
        const state = await volume.meta.lookup(ROOT_NODE, "log");
        if (state === undefined) continue;
        seen++;
        // Each can be read at once, though the file is another one by then.
        await append();
        version = state.version;
        expect(await volume.readVersion(state.node, version)).toBe(log.slice(0, state.sizeBytes));
      }
      return seen;
    };
    // It shows within 2 s.
    expect(await grow(500)).toBeGreaterThan(300);
    expect((await volume.meta.lookup(ROOT_NODE, "log"))?.sizeBytes).toBeGreaterThan(0);
    // A log that has rested is no other.
    await volume.clock.advance(60_000);
    expect(await grow(200)).toBe(200);
    const { node = 0 } = (await volume.meta.lookup(ROOT_NODE, "log")) ?? {};
    await file.write(0, Buffer.from("LINE"));
    await expect(volume.readVersion(node, version)).rejects.toMatchObject({ kind: "Stale" });
    await file.close();
  });

  test("follows a rename and a change of attributes by another program", async () => {
    await started();
    await volume.writeFile("file", "content");
    await volume.settle();
    const state = await volume.meta.lookup(ROOT_NODE, "file");
    const opened = await volume.store.open({ node: state?.node ?? 0, seq: state?.version ?? 0 });
    await volume.other.rename("file", "renamed", "keep");
    await volume.other.setStat("renamed", { mode: 0o600 });
    await volume.settle();
    expect(Buffer.from(await opened.read(0, 7)).toString()).toBe("content");
    await opened.close();
  });
});
