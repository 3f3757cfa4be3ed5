// A volume over its log and meta store: what is durable, what is repeated, what may be dropped, and what a full disk
// changes.
import { afterEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, RunnelError, isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../../src/meta/meta-store.ts";
import { openMemoryMetaStore } from "../../src/meta/memory/meta-store.ts";
import { decodeRecord, encodeRecord } from "../../src/commit-log/record.ts";
import { DATA, FILE, FOLDER, VolumeRig, bytesOf } from "./volume-rig.ts";

const rigs: VolumeRig[] = [];

async function opened(options: ConstructorParameters<typeof VolumeRig>[1] = {}): Promise<VolumeRig> {
  const rig = await VolumeRig.open(4, options);
  rigs.push(rig);
  return rig;
}

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function segments(rig: VolumeRig): Promise<string[]> {
  const names: string[] = [];
  await (
    await rig.disk.openRoot(`${DATA}/log`)
  ).list("", (entries) => {
    for (const { name } of entries) names.push(name ?? "");
  });
  return names.sort();
}

async function kindOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "done",
    (error: unknown) => (isRunnelError(error) ? error.kind : String(error)),
  );
}

describe("the chunk index", () => {
  test("has the chunks of files that other programs made, young ones too", async () => {
    const rig = await opened();
    const bytes = bytesOf(3, 40_000);
    await rig.writeFile("old", bytes.subarray(20_000));
    await rig.clock.advance(60_000);
    await rig.writeFile("young", bytes.subarray(0, 20_000));
    await rig.settle();
    for (const part of [bytes.subarray(20_000), bytes.subarray(0, 20_000)]) {
      const { digests } = await rig.executor.chunkBytes(part);
      expect(await rig.volume.meta.findChunks(digests)).not.toContain(undefined);
    }
  });
});

describe("operations by number", () => {
  test("get the stored result when repeated, after a restart too, and are refused when they say something else", async () => {
    const rig = await opened();
    const { first } = await rig.volume.meta.allocateNodes(2);
    const make = { op: "make", folder: ROOT_NODE, name: "a", node: first, attributes: FILE } as const;
    const result = await rig.commit(make, undefined, 7);
    expect(await rig.commit(make, undefined, 7)).toEqual(result);
    await rig.kill();
    await rig.open();
    const { seq } = rig.volume;
    expect(await rig.commit(make, undefined, 7)).toEqual(result);
    const other = { ...rig.id(7), digest: bytesOf(99, 32) };
    expect(await kindOf(rig.volume.commit(make, other, undefined))).toBe("Invalid");
    expect(rig.volume.seq).toBe(seq);
  });

  test("keep the answer of one that changed nothing, which would change something now", async () => {
    const rig = await opened();
    const folder = await rig.folder(ROOT_NODE, "d");
    const { first } = await rig.volume.meta.allocateNodes(1);
    const again = {
      op: "make",
      folder: ROOT_NODE,
      name: "d",
      node: first,
      attributes: { ...FILE, type: "folder" },
    } as const;
    await rig.volume.meta.checkpoint();
    const result = await rig.commit(again, undefined, 70);
    expect(result.node).toBe(folder);
    await rig.remove("d");
    await rig.cutPower();
    await rig.open();
    expect(await rig.commit(again, undefined, 70)).toEqual(result);
    expect(await rig.volume.meta.lookup(ROOT_NODE, "d")).toBeUndefined();
  });
});

describe("bytes that a commit copies from an older version", () => {
  test("are digested when they are brought up: what a program changed without a trace is never taken for them", async () => {
    const rig = await opened();
    const bytes = bytesOf(5, 60_000);
    const node = await rig.file(ROOT_NODE, "a", bytes);
    await rig.settle();
    // It has begun long ago, so the tuple stays, and is told of when the commit is up.
    rig.disk.endLongWrite(FOLDER, "a", 30_000, Buffer.from("other bytes"));
    const { version } = await rig.prepend(node, Buffer.from("in front "));
    await rig.settle();
    const read = await rig.read(node, version).catch((error: unknown) => isRunnelError(error, "Lost"));
    const isDestroyed = (await rig.volume.content.notices()).some(({ kind }) => kind === "incomplete");
    // Had from elsewhere, or said to be gone.
    const whole = new Uint8Array(Buffer.concat([Buffer.from("in front "), bytes]));
    expect(read).toEqual(isDestroyed ? true : whole);
  });
});

describe("an index behind the log", () => {
  test("[F61] is rolled forward in the same epoch, with the files of its contents", async () => {
    const rig = await opened();
    const { epoch } = rig.volume;
    await rig.volume.meta.checkpoint();
    await rig.file(ROOT_NODE, "a", bytesOf(1, 50_000));
    await rig.file(ROOT_NODE, "b", "b first");
    const before = await rig.tree();
    await rig.cutPower();
    await rig.open();
    expect(rig.volume.epoch).toBe(epoch);
    expect(await rig.tree()).toEqual(before);
    await rig.settle();
    expect(await rig.files()).toEqual(before);
  });

  test("[F64] never counts on records behind the last commit: a note torn off by a power cut costs no commit", async () => {
    const rig = await opened();
    for (let round = 0; round < 6; round++) {
      await rig.file(ROOT_NODE, `file ${round}`, `content ${round}`);
      await rig.settle();
      // Makes the index durable, with the place it stands at.
      await rig.volume.meta.allocateNodes(1);
      await rig.cutPower();
      await rig.open();
      await rig.settle();
    }
    const names = [...(await rig.tree()).keys()];
    expect(names).toEqual(Array.from({ length: 6 }, (_, round) => `file ${round}`));
  });

  test("that is damaged is made anew, in a new epoch, with all commits", async () => {
    const rig = await opened();
    const { epoch } = rig.volume;
    await rig.file(ROOT_NODE, "a", "a first");
    const before = await rig.tree();
    await rig.kill();
    rig.isMetaDamaged = true;
    await rig.open();
    await rig.settle();
    expect(rig.volume.epoch).not.toBe(epoch);
    expect(await rig.tree()).toEqual(before);
    expect(rig.warnings.some((warning) => warning.includes("damaged"))).toBe(true);
  });

  test.each([
    ["ahead of a log that was lost", async (rig: VolumeRig) => removeLog(rig)],
    [
      "of another history than the log",
      async (rig: VolumeRig) => {
        rig.loseMeta();
        await (await openMemoryMetaStore(rig.image, { create: { epoch: "f".repeat(32) } })).close();
        // An older copy has been put back: the log's first segments are gone.
        (rig.image.tables as unknown as { putFacts(facts: unknown): void }).putFacts({
          ...rig.image.tables.facts(),
          seq: -5,
        });
        rig.image.tables.checkpoint();
      },
    ],
  ])("%s is made anew", async (_title, spoil) => {
    const rig = await opened();
    const { epoch } = rig.volume;
    await rig.file(ROOT_NODE, "a", "a first");
    await rig.settle();
    const before = await rig.tree();
    await rig.close();
    await spoil(rig);
    await rig.open();
    await rig.settle();
    expect(rig.volume.epoch).not.toBe(epoch);
    expect(await rig.tree()).toEqual(before);
  });
});

async function removeLog(rig: VolumeRig): Promise<void> {
  const root = await rig.disk.openRoot(`${DATA}/log`);
  for (const name of await segments(rig)) await root.removeFile(name);
  await root.syncFolder("");
}

describe("the commit log", () => {
  test("lets a segment go only when the index is durable past it and its commits are up", async () => {
    const rig = await opened({ logSegmentBytes: 4096 });
    const node = await rig.make(ROOT_NODE, "a");
    await rig.settle();
    // Nothing is brought up.
    rig.disk.fault = (_operation, path) => (path.startsWith(".runnel-store/temp/") ? "NoSpace" : undefined);
    for (let round = 0; round < 4; round++) {
      await rig.write(node, bytesOf(round, 5_000));
      await rig.clock.advance(6_000);
    }
    const held = await segments(rig);
    expect(held.length).toBeGreaterThanOrEqual(4);
    rig.disk.fault = undefined;
    await rig.clock.advance(60_000);
    await rig.settle();
    await rig.write(node, bytesOf(9, 100));
    await rig.clock.advance(20_000);
    expect((await segments(rig)).length).toBeLessThanOrEqual(2);
    await rig.cutPower();
    await rig.open();
    await rig.settle();
    expect((await rig.readFile("a")).length).toBe(100);
  });

  test("keeps after a restart what commits of before it still need", async () => {
    const rig = await opened({ logSegmentBytes: 4096 });
    const node = await rig.make(ROOT_NODE, "a");
    await rig.settle();
    const hold = (): void => {
      rig.disk.fault = (_operation, path) =>
        path.startsWith(".runnel-store/temp/") && path.endsWith(".new") ? "NoSpace" : undefined;
    };
    hold();
    await rig.write(node, bytesOf(1, 50_000));
    await rig.kill();
    hold();
    await rig.open();
    const other = await rig.make(ROOT_NODE, "b");
    for (let round = 0; round < 3; round++) {
      await rig.write(other, bytesOf(round, 5_000));
      await rig.clock.advance(6_000);
    }
    rig.disk.fault = undefined;
    await rig.clock.advance(60_000);
    await rig.settle();
    expect(await rig.readFile("a")).toEqual(bytesOf(1, 50_000));
  });

  const LACKS = ["NoSpace", "Quota"] as const;

  test.each(LACKS)(
    "that is full is NoSpace: nothing happened, and it goes on when there is room (%s)",
    async (lack) => {
      const rig = await opened();
      const node = await rig.file(ROOT_NODE, "a", "a first");
      await rig.settle();
      const before = await rig.tree();
      const { seq } = rig.volume;
      rig.disk.fault = (operation, path) => (operation === "write" && path.startsWith("log/") ? lack : undefined);
      expect(await kindOf(rig.write(node, Buffer.from("no room for this"), 50))).toBe("NoSpace");
      expect(await rig.tree()).toEqual(before);
      expect(rig.volume.seq).toBe(seq);
      rig.disk.fault = undefined;
      await rig.write(node, Buffer.from("now there is"), 50);
      expect((await rig.tree()).get("a")).toBe("file now there is");
      await rig.settle();
      await rig.kill();
      await rig.open();
      expect((await rig.tree()).get("a")).toBe("file now there is");
    },
  );

  test("that takes no notes of what is applied costs no old version of the folder's, and it goes on when there is room", async () => {
    const rig = await opened();
    const node = await rig.file(ROOT_NODE, "a", bytesOf(1, 300_000));
    await rig.settle();
    await rig.write(node, bytesOf(2, 300_000));
    await rig.settle();
    const kept = async (): Promise<unknown> => {
      const versions = await rig.volume.meta.versionsOf(node);
      return versions.map(({ place }) => place.at);
    };
    const before = await kept();
    let writes = 0;
    rig.disk.fault = (operation, path) => {
      const isNote = operation === "write" && path.startsWith("log/") && ++writes > 1;
      return isNote ? "Quota" : undefined;
    };
    await rig.write(node, bytesOf(3, 300_000));
    await rig.clock.advance(120_000);
    expect(rig.volume.content.status()).toMatchObject({ pendingCommits: 1, stuck: { kind: "NoSpace" } });
    expect((await kept()) as string[]).toEqual([...(before as string[]), "pending"]);
    rig.disk.fault = undefined;
    await rig.settle();
    expect(await rig.readFile("a")).toEqual(bytesOf(3, 300_000));
  });

  /** With an index that fails as it is told. */
  async function openedWithIndex(failing: { as: "Io" | "NoSpace" | undefined }): Promise<VolumeRig> {
    const rig = new VolumeRig(4);
    rigs.push(rig);
    rig.options.openMeta = async (create) => {
      const meta = await openMemoryMetaStore(rig.image, create === undefined ? {} : { create });
      return new Proxy(meta, {
        get: (target, key: keyof MetaStore) => {
          if (key === "commit" && failing.as !== undefined) {
            const error = new RunnelError(failing.as, "commit", "The index's disk fails.");
            return async () => {
              await target.rollback();
              throw error;
            };
          }
          const value: unknown = Reflect.get(target, key);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
    await rig.open();
    await rig.settle();
    return rig;
  }

  test("has what a full index could not take: who asked is told at once, nothing more is committed, and it happens when there is room", async () => {
    const failing: { as: "NoSpace" | undefined } = { as: undefined };
    const rig = await openedWithIndex(failing);
    const node = await rig.file(ROOT_NODE, "a", "a first");
    failing.as = "NoSpace";
    expect(await kindOf(rig.write(node, Buffer.from("in the log"), 50))).toBe("NoSpace");
    expect(await kindOf(rig.write(node, Buffer.from("another"), 51))).toBe("NoSpace");
    expect((await rig.tree()).get("a")).toBe("file a first");
    failing.as = undefined;
    await rig.clock.advance(2_000);
    await rig.settle();
    expect((await rig.tree()).get("a")).toBe("file in the log");
    expect(await rig.readFile("a")).toEqual(new Uint8Array(Buffer.from("in the log")));
    await rig.write(node, Buffer.from("now there is room"), 52);
    expect((await rig.tree()).get("a")).toBe("file now there is room");
  });

  test("has what the index could not take: nothing more is committed until a restart rolls it forward", async () => {
    const failing: { as: "Io" | undefined } = { as: undefined };
    const rig = await openedWithIndex(failing);
    const node = await rig.file(ROOT_NODE, "a", "a first");
    failing.as = "Io";
    const [first, second] = await Promise.all([
      kindOf(rig.write(node, Buffer.from("in the log"), 50)),
      kindOf(rig.write(node, Buffer.from("too late"), 51)),
    ]);
    expect([first, second]).toEqual(["Io", "Io"]);
    failing.as = undefined;
    expect(await kindOf(rig.write(node, Buffer.from("still too late"), 52))).toBe("Io");
    await rig.kill();
    await rig.open();
    // Both came in one batch, or the second was refused: nothing is between.
    expect(["file in the log", "file too late"]).toContain((await rig.tree()).get("a"));
    await rig.settle();
    expect(rig.volume.content.status().stuck).toBeUndefined();
  });

  test("[F61] holds recipes larger than any message", () => {
    const chunks = 40_000;
    const recipe = { lengths: new Uint32Array(chunks).fill(8), digests: bytesOf(1, 32 * chunks) };
    const content = { recipe, sizeBytes: 8 * chunks, runs: [], temp: "" };
    const operation = { op: "write", node: 5, base: 0, content, attributes: {} } as const;
    const result = { node: 5, seq: 1, version: 1, conflict: false };
    const { bytes } = encodeRecord(
      { kind: "commit", seq: 1, wallNs: 1n, id: undefined, operation, change: undefined, result, paths: undefined },
      new Uint8Array(0),
    );
    expect(bytes.length).toBeGreaterThan(LIMITS.controlBytes);
    const { record } = decodeRecord(bytes);
    expect(record).toMatchObject({ kind: "commit", operation: { content: { recipe: { lengths: recipe.lengths } } } });
  });
});

describe("recipes of files that other programs wrote", () => {
  test("come when a file has settled, and one that cannot be cut holds up no other", async () => {
    const rig = await opened();
    for (let index = 0; index < 70; index++)
      await rig.writeFile(`unreadable ${String(index).padStart(2, "0")}`, `content ${index}`);
    await rig.writeFile("readable", bytesOf(5, 9_000));
    rig.disk.fault = (operation, path) =>
      operation === "open" && path.startsWith("unreadable") ? "Denied" : undefined;
    await rig.settle();
    const state = await rig.volume.meta.lookup(ROOT_NODE, "readable");
    const version = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    expect((await rig.volume.meta.recipe(version))?.lengths.length).toBeGreaterThan(0);
    expect(await rig.volume.meta.withoutRecipe(100)).toHaveLength(70);
    rig.disk.fault = undefined;
    await rig.settle();
    expect(await rig.volume.meta.withoutRecipe(100)).toEqual([]);
  });
});
