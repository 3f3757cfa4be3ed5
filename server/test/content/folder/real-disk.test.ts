// The folder engine on a real file system, with real time: what the simulated disk cannot vouch for.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { realDisk } from "@runnel/native";
import type { DiskRoot } from "@runnel/shared";
import { ROOT_NODE, RealClock } from "@runnel/shared";
import type { ContentCallbacks, ContentStore } from "../../../src/content/content-store.ts";
import { openFolderStore } from "../../../src/content/folder/folder-store.ts";
import { MemoryMetaImage, openMemoryMetaStore } from "../../../src/meta/memory/meta-store.ts";
import type { ExternalOperation, MetaStore, Operation, Run } from "../../../src/meta/meta-store.ts";
import { FILE } from "./test-volume.ts";

const SHOWN_MS = 2000;
const clock = new RealClock();

let folder: string;
let root: DiskRoot;
let meta: MetaStore;
let store: ContentStore;
const records: Uint8Array[] = [];
/** The log is read once it has resolved. */
let readable: Promise<void> = Promise.resolve();
let turn: Promise<unknown> = Promise.resolve();

/** Commits one after another. */
function commit(operations: readonly (Operation | ExternalOperation)[], data = new Uint8Array(0)) {
  const done = turn.then(async () => {
    const planned = await meta.plan(
      operations.map((operation) => ({ id: undefined, operation, wallNs: clock.wallNs() })),
    );
    const place = { segment: 1, offset: records.length, length: data.length };
    records.push(data);
    await meta.commit(new Map(operations.map((_, index) => [index, place])), { segment: 1, offset: records.length });
    for (const [index, answer] of planned.entries()) {
      const operation = operations[index] as Operation;
      if (!answer.ok || answer.change === undefined || operation.op.startsWith("external")) continue;
      store.accept({
        seq: answer.change.seq,
        operation,
        result: answer.result,
        change: answer.change,
        instance: "",
        data: place,
      });
    }
    return planned;
  });
  turn = done.catch(() => undefined);
  return done;
}

const callbacks: ContentCallbacks = {
  externalChanges: (operations) => commit(operations),
  recordIntent: async () => undefined,
  recordWaiting: async () => undefined,
  askCommitter: async () => undefined,
  readLog: async ({ offset: record }, offset, length) => {
    await readable;
    return records[record]?.slice(offset, offset + length) ?? new Uint8Array(0);
  },
  noticed: () => undefined,
  applied: () => undefined,
  uncertain: () => undefined,
  scanned: () => undefined,
  unavailable: () => undefined,
  resumable: () => undefined,
};

async function until(what: string, isTrue: () => Promise<boolean> | boolean, withinMs: number): Promise<void> {
  const endMs = clock.bootMs() + withinMs;
  while (!(await isTrue())) {
    if (clock.bootMs() > endMs) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => clock.after(20, () => resolve(undefined), true));
  }
}

async function names(node = ROOT_NODE): Promise<string[]> {
  return (await meta.list(node, "", 10_000)).map(({ name }) => name);
}

async function text(name: string): Promise<string> {
  const state = await meta.lookup(ROOT_NODE, name);
  if (state === undefined) return "(absent)";
  try {
    const opened = await store.open({ node: state.node, seq: state.version });
    try {
      return Buffer.from(await opened.read(0, opened.sizeBytes)).toString();
    } finally {
      await opened.close();
    }
  } catch (error) {
    return `(${(error as { kind: string }).kind})`;
  }
}

async function serve(): Promise<void> {
  const disk = realDisk();
  root = await disk.openRoot(folder);
  store = openFolderStore({ disk, root, meta, clock, callbacks, settings: { volume: "real" } });
  await store.start([], new Map());
  await until("first scan", () => !store.status().isScanning, 20_000);
}

async function write(node: number, content: string | Buffer, more: readonly Run[] = []): Promise<number> {
  const data = Buffer.from(content);
  const runs = [...more, { from: "log" as const, at: 0, length: data.length }];
  const sizeBytes = runs.reduce((sum, { length }) => sum + length, 0);
  const base = (await meta.node(node))?.version ?? 0;
  const [answer] = await commit(
    [
      {
        op: "write",
        node,
        base,
        content: { recipe: undefined, sizeBytes, runs, temp: "" },
        attributes: {},
      },
    ],
    data,
  );
  return answer?.ok === true ? answer.result.seq : 0;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-content-"));
  meta = await openMemoryMetaStore(new MemoryMetaImage(), { create: { epoch: "0123456789abcdef0123456789abcdef" } });
});

afterEach(async () => {
  await store.close();
  await root.close();
  rmSync(folder, { recursive: true });
});

describe("the folder engine on a real disk", () => {
  test("serves what lies there, and applies commits next to it", async () => {
    mkdirSync(join(folder, "sub"));
    writeFileSync(join(folder, "sub", "file"), "content");
    writeFileSync(join(folder, "a"), "one");
    linkSync(join(folder, "a"), join(folder, "b"));
    symlinkSync("/", join(folder, "out"));
    await serve();
    expect(await names()).toEqual(["a", "b", "out", "sub"]);
    expect((await meta.lookup(ROOT_NODE, "a"))?.node).toBe((await meta.lookup(ROOT_NODE, "b"))?.node);
    const { first } = await meta.allocateNodes(1);
    await commit([{ op: "make", folder: ROOT_NODE, name: "made", node: first, attributes: FILE }]);
    const seq = await write(first, "committed");
    await store.whenApplied(seq);
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("committed");
    await store.whenApplied(await write((await meta.lookup(ROOT_NODE, "a"))?.node ?? 0, "both"));
    expect(readFileSync(join(folder, "b"), "utf8")).toBe("both");
    expect(store.status().stuck).toBeUndefined();
    expect(await store.notices()).toEqual([]);
    expect(readdirSync(join(folder, ".runnel-store", "temp"))).toEqual([]);
    expect(readdirSync(join(folder, ".runnel-store", "trash"))).toHaveLength(2);
  });

  test("[F168] shows owners of symlinks and pipes as they were made, after the loss of the index too", async () => {
    await serve();
    const { first } = await meta.allocateNodes(2);
    const owner = { uid: 4242, gid: 4243 };
    for (const [at, type] of (["symlink", "fifo"] as const).entries()) {
      const attributes = { ...FILE, ...owner, type, mode: 0o777, target: type === "symlink" ? "away" : "" };
      await commit([{ op: "make", folder: ROOT_NODE, name: type, node: first + at, attributes }]);
    }
    await store.whenApplied((await meta.facts()).seq);
    await store.close();
    await root.close();
    renameSync(join(folder, "symlink"), join(folder, "moved"));
    meta = await openMemoryMetaStore(new MemoryMetaImage(), { create: { epoch: "1123456789abcdef0123456789abcdef" } });
    await serve();
    expect(await meta.lookup(ROOT_NODE, "moved")).toMatchObject({ type: "symlink", mode: 0o777, ...owner });
    expect(await meta.lookup(ROOT_NODE, "fifo")).toMatchObject({ type: "fifo", mode: 0o777, ...owner });
    expect(readdirSync(join(folder, ".runnel-store", "temp"))).toEqual([]);
    expect(lstatSync(join(folder, "moved")).uid).not.toBe(owner.uid);
  });

  test("takes a time that the disk cannot hold for its own, not for another program's", async () => {
    await serve();
    const { first: node } = await meta.allocateNodes(1);
    await commit([{ op: "make", folder: ROOT_NODE, name: "late", node, attributes: FILE }]);
    await store.whenApplied(await write(node, "content"));
    // A time in the year 3058: ext4 ends in 2446.
    await commit([{ op: "setAttr", node, change: { mtimeNs: 2n ** 35n * 1_000_000_000n } }]);
    const [removed] = await commit([{ op: "remove", folder: ROOT_NODE, name: "late", node, isFolder: false }]);
    await store.whenApplied(removed?.ok === true ? removed.result.seq : 0);
    expect(await store.notices()).toEqual([]);
    expect(readdirSync(folder)).toEqual([".runnel-store"]);
  });

  test("makes holes of zeros, also of those that a save copies from one that it has superseded", async () => {
    await serve();
    const [first, sparse] = [(await meta.allocateNodes(1)).first, (await meta.allocateNodes(1)).first];
    const made = (name: string, node: number): Operation => ({
      op: "make",
      folder: ROOT_NODE,
      name,
      node,
      attributes: FILE,
    });
    await commit([made("first", first), made("sparse", sparse)]);
    const release = Promise.withResolvers<void>();
    readable = release.promise;
    await write(first, "on its way");
    const size = 8 * 1024 * 1024;
    const seq = await write(sparse, Buffer.alloc(size));
    const version = { node: sparse, seq };
    const last = await write(sparse, "end", [{ from: "version", version, offset: 0, length: size }]);
    release.resolve();
    await store.whenApplied(last);
    expect(readFileSync(join(folder, "sparse")).equals(Buffer.concat([Buffer.alloc(size), Buffer.from("end")]))).toBe(
      true,
    );
    expect(statSync(join(folder, "sparse")).blocks * 512).toBeLessThan(64 * 1024);
    expect(readdirSync(join(folder, ".runnel-store", "trash"))).toEqual([]);
  });

  test("shows within 2 s what programs do", async () => {
    await serve();
    writeFileSync(join(folder, "file"), "1");
    await until("made", async () => (await text("file")) === "1", SHOWN_MS);
    appendFileSync(join(folder, "file"), "2");
    await until("appended", async () => (await text("file")) === "12", SHOWN_MS);
    const node = (await meta.lookup(ROOT_NODE, "file"))?.node;
    renameSync(join(folder, "file"), join(folder, "renamed"));
    await until("renamed", async () => (await meta.lookup(ROOT_NODE, "renamed"))?.node === node, SHOWN_MS);
    rmSync(join(folder, "renamed"));
    await until("removed", async () => (await names()).length === 0, SHOWN_MS);
    mkdirSync(join(folder, "deep", "er"), { recursive: true });
    writeFileSync(join(folder, "deep", "er", "file"), "x");
    await until(
      "deep",
      async () => {
        const deep = (await meta.lookup(ROOT_NODE, "deep"))?.node ?? 0;
        const er = (await meta.lookup(deep, "er"))?.node ?? 0;
        return (await names(er)).length === 1;
      },
      SHOWN_MS,
    );
  });

  test("takes in 2,000 files of another program", async () => {
    await serve();
    execFileSync("sh", ["-c", 'for i in $(seq 2000); do echo $i > "$0/f$i"; done', folder]);
    await until("2,000 files", async () => (await names()).length === 2000, 10_000);
    expect(await text("f77")).toBe("77\n");
  });
});
