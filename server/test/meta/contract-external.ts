// Contract of MetaStore, part three: what other programs did, and the disk rows.
import { describe, expect, test } from "@jest/globals";
import { appliedCommits } from "../../src/meta/is-applied.ts";
import { FILE, FOLDER, ROOT, digestOf, diskRow } from "./meta-harness.ts";
import type { Harness } from "./meta-harness.ts";

type Using = (work: (h: Harness) => Promise<void>) => () => Promise<void>;

function describeXattrs(using: Using): void {
  test(
    "extended attributes come with what is taken in, and rows remember what lies on disk",
    using(async (h) => {
      const disk = { ...diskRow(0, 0, ""), xattrs: { digest: "d1", refused: [] } };
      const xattrs = [["user.a", Uint8Array.of(1)]] as const;
      const attributes = FILE;
      const make = { op: "externalMake", folder: ROOT, name: "a", attributes, xattrs, sizeBytes: 3, disk } as const;
      const { node } = (await h.run(make)).result;
      expect(await h.store.node(node)).toMatchObject({ xattrSeq: 1 });
      expect((await h.store.xattrs(node)).map(([name]) => name)).toEqual(["user.a"]);
      expect((await h.store.diskRow(ROOT, "a"))?.xattrs).toEqual(disk.xattrs);
      const bare = diskRow(0, 0, "");
      await h.run({ op: "externalLink", node, folder: ROOT, name: "b", disk: bare });
      await h.run({ op: "externalRename", node, folder: ROOT, name: "a", toFolder: ROOT, toName: "c", disk: bare });
      expect((await h.store.diskRowsOfNode(node)).map((row) => row.xattrs)).toEqual([disk.xattrs, disk.xattrs]);
      const later = { ...bare, xattrs: { digest: "d2", refused: ["user.b"] } };
      const change = { xattrs: [["user.b", Uint8Array.of(2)]] } as const;
      await h.run({ op: "externalAttributes", node, change, disk: later });
      expect((await h.store.xattrs(node)).map(([name]) => name)).toEqual(["user.b"]);
      expect((await h.store.diskRow(ROOT, "c"))?.xattrs).toEqual(later.xattrs);
      await h.run({ op: "externalWrite", node, sizeBytes: 4, change: { xattrs: [] }, disk: bare });
      expect(await h.store.xattrs(node)).toEqual([]);
      expect((await h.store.node(node))?.xattrSeq).toBeUndefined();
    }),
  );
}

function describeTakenIn(using: Using): void {
  test(
    "externalMake takes in a file at its place on disk, without a recipe",
    using(async (h) => {
      const disk = diskRow(0, 0, "");
      const make = { op: "externalMake", folder: ROOT, name: "a", attributes: FILE, sizeBytes: 3, disk } as const;
      const { result, change } = await h.run(make);
      const { node } = result;
      expect(result).toEqual({ node, seq: 1, version: 1, conflict: false });
      expect(change).toMatchObject({
        bindings: [{ folder: ROOT, name: "a", node }],
        nodes: [{ node, sizeBytes: 3, nlink: 1 }, { node: ROOT }],
      });
      expect(await h.store.versionsOf(node)).toMatchObject([
        { version: { node, seq: 1 }, hasRecipe: false, place: { at: "disk" } },
      ]);
      expect(await h.store.diskRow(ROOT, "a")).toEqual({ ...disk, node, folder: ROOT, name: "a", version: 1 });
      expect(await h.newNode()).toBeGreaterThan(node);
      const empty = await h.external(ROOT, "e", 0);
      expect(await h.store.versionsOf(empty)).toMatchObject([
        { version: { node: empty, seq: 0 }, hasRecipe: true, place: { at: "empty" } },
      ]);
      const folder = (await h.run({ ...make, name: "d", attributes: FOLDER, sizeBytes: 4096 })).result.node;
      expect(await h.store.nodes([ROOT, folder])).toMatchObject([{ nlink: 3 }, { nlink: 2, sizeBytes: 0 }]);
      expect((await h.refused({ ...make, name: ".." })).kind).toBe("BadName");
      expect((await h.refused({ ...make, folder: 5_000_000 })).kind).toBe("NotFound");
    }),
  );

  test(
    "a file written in place, or emptied, again and again has rows of its newest versions only",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      const disk = diskRow(0, 0, "", { handle: digestOf("made 1/a") });
      const seqs: number[] = [];
      for (let count = 0; count < 100; count++) {
        const { result } = await h.run({ op: "externalWrite", node, sizeBytes: 9, change: {}, disk });
        seqs.push(result.version);
      }
      const rows = await h.store.versionsOf(node);
      expect(rows.map(({ version }) => version.seq)).toEqual(seqs.slice(-17));
      expect(rows.map(({ place }) => place.at)).toEqual([...Array.from({ length: 16 }, () => "lost"), "disk"]);
      for (const seq of seqs.slice(0, -17)) expect(await h.store.recipe({ node, seq })).toBeUndefined();
      const emptied = await h.make(ROOT, "b");
      for (let count = 0; count < 100; count++) {
        const base = (await h.store.node(emptied))?.version ?? 0;
        await h.run(h.write(emptied, base, ""));
      }
      const ofEmptied = await h.store.versionsOf(emptied);
      expect(ofEmptied).toHaveLength(16);
      expect(ofEmptied.at(-1)?.version.seq).toBe((await h.store.node(emptied))?.version);
      for (const { version } of ofEmptied.slice(0, -1)) await h.store.setPlace(version, { at: "lost" });
      expect(await h.store.versionsOf(emptied)).toHaveLength(16);
    }),
  );

  test(
    "externalWrite is a new version on disk; the one overwritten in place is lost",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      await h.run({ op: "externalLink", node, folder: ROOT, name: "b", disk: diskRow(0, 0, "") });
      const disk = diskRow(0, 0, "", { handle: digestOf("made 1/a") });
      const operation = { op: "externalWrite", node, sizeBytes: 9, change: { mtimeNs: 4n }, disk } as const;
      const { result } = await h.run(operation);
      expect(result).toEqual({ node, seq: 3, version: 3, conflict: false });
      expect((await h.store.versionsOf(node)).map((row) => row.place.at)).toEqual(["lost", "disk"]);
      expect(await h.store.node(node)).toMatchObject({ sizeBytes: 9, mtimeNs: 4n, version: 3, nlink: 2 });
      expect(await h.store.diskRowsOfNode(node)).toEqual([
        { ...disk, node, folder: ROOT, name: "a", version: 3 },
        { ...disk, node, folder: ROOT, name: "b", version: 3 },
      ]);
      const emptied = await h.run({ ...operation, sizeBytes: 0 });
      expect(await h.store.version({ node, seq: emptied.result.version })).toMatchObject({
        place: { at: "empty" },
        hasRecipe: true,
      });
    }),
  );

  test(
    "a version that is not on disk stays when the file is overwritten",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.up(ROOT, "a");
      await h.run({ op: "externalWrite", node, sizeBytes: 9, change: {}, disk: diskRow(0, 0, "") });
      expect((await h.store.versionsOf(node)).map((row) => row.place.at)).toEqual(["empty", "disk"]);
    }),
  );

  test(
    "externalAttributes is recorded in node and disk rows, the root's too",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      const disk = diskRow(0, ROOT, "a", { handle: digestOf("new") });
      await h.run({ op: "externalAttributes", node, change: { mode: 0o400 }, disk });
      expect(await h.store.node(node)).toMatchObject({ mode: 0o400, version: 1, seq: 2, ctimeNs: h.wallNs });
      expect(await h.store.diskRow(ROOT, "a")).toEqual({ ...disk, node, version: 1 });
      await h.run({ op: "externalAttributes", node: ROOT, change: { mode: 0o700 }, disk: diskRow(0, 0, "") });
      expect(await h.store.node(ROOT)).toMatchObject({ mode: 0o700 });
      expect(await h.store.diskRow(0, "")).toMatchObject({ node: ROOT });
    }),
  );

  test(
    "externalRename moves the name in tree and disk rows; a file it replaces loses name and bytes",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const [a, b] = [await h.external(ROOT, "a"), await h.external(folder, "b")];
      const disk = diskRow(0, 0, "", { handle: digestOf("made 1/a") });
      const change = await h.change({
        op: "externalRename",
        folder: ROOT,
        name: "a",
        node: a,
        toFolder: folder,
        toName: "b",
        disk,
      });
      expect(change).toMatchObject({
        bindings: [
          { folder: ROOT, name: "a", node: 0 },
          { folder, name: "b", node: a },
        ],
        replaces: { node: b, seq: 3 },
      });
      expect(await h.store.node(b)).toMatchObject({ nlink: 0 });
      expect(await h.store.version({ node: b, seq: 3 })).toMatchObject({ place: { at: "lost" } });
      expect(await h.store.version({ node: a, seq: 2 })).toMatchObject({ place: { at: "disk" } });
      expect(await h.store.diskRows(ROOT)).toEqual([]);
      expect(await h.store.diskRows(folder)).toEqual([{ ...disk, node: a, folder, name: "b", version: 2 }]);
    }),
  );

  test(
    "externalRemove takes the name; with the last one the bytes are lost",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      await h.run({ op: "externalLink", node, folder: ROOT, name: "b", disk: diskRow(0, 0, "") });
      const first = await h.change({ op: "externalRemove", folder: ROOT, name: "a", node });
      expect(first).toMatchObject({ nodes: [{ node, nlink: 1 }, { node: ROOT }], replaces: { node, seq: 1 } });
      expect(await h.store.version({ node, seq: 1 })).toMatchObject({ place: { at: "disk" } });
      await h.run({ op: "externalRemove", folder: ROOT, name: "b", node });
      expect(await h.store.version({ node, seq: 1 })).toMatchObject({ place: { at: "lost" } });
      expect(await h.store.diskRowsOfNode(node)).toEqual([]);
      expect(await h.names(ROOT)).toEqual([]);
    }),
  );

  test(
    "a folder is removed after what it held",
    using(async (h) => {
      const make = {
        op: "externalMake",
        folder: ROOT,
        name: "d",
        attributes: FOLDER,
        sizeBytes: 0,
        disk: diskRow(0, 0, ""),
      } as const;
      const folder = (await h.run(make)).result.node;
      const node = await h.external(folder, "a");
      const remove = { op: "externalRemove", folder: ROOT, name: "d", node: folder } as const;
      expect((await h.refused(remove)).kind).toBe("NotEmpty");
      await h.run({ op: "externalRemove", folder, name: "a", node });
      expect((await h.change(remove)).nodes).toMatchObject([
        { node: folder, nlink: 0 },
        { node: ROOT, nlink: 2 },
      ]);
    }),
  );
}

/** No change, nothing stored, no seq spent. */
async function expectSuperseded(h: Harness, operation: Parameters<Harness["run"]>[0]): Promise<void> {
  const before = await h.store.facts();
  const rows = await h.store.diskRows(ROOT);
  expect((await h.run(operation)).change).toBeUndefined();
  expect((await h.store.facts()).seq).toBe(before.seq);
  expect(await h.store.diskRows(ROOT)).toEqual(rows);
}

function describeSuperseded(using: Using): void {
  const disk = diskRow(0, 0, "");

  test(
    "by a committed name that is not up",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await expectSuperseded(h, { op: "externalMake", folder: ROOT, name: "a", attributes: FILE, sizeBytes: 3, disk });
      await expectSuperseded(h, { op: "externalRemove", folder: ROOT, name: "a", node });
      const b = await h.external(ROOT, "b");
      await expectSuperseded(h, { op: "externalLink", node: b, folder: ROOT, name: "a", disk });
      await expectSuperseded(h, {
        op: "externalRename",
        folder: ROOT,
        name: "b",
        node: b,
        toFolder: ROOT,
        toName: "a",
        disk,
      });
      await expectSuperseded(h, { op: "externalAttributes", node, change: { mode: 0 }, disk });
      await expectSuperseded(h, { op: "externalWrite", node, sizeBytes: 3, change: {}, disk });
    }),
  );

  test(
    "by a committed removal or rename that is not up",
    using(async (h) => {
      const [a, b] = [await h.external(ROOT, "a"), await h.external(ROOT, "b")];
      await h.run(h.remove(ROOT, "a", a));
      await h.run(h.rename([ROOT, "b"], b, [ROOT, "c"]));
      await expectSuperseded(h, { op: "externalMake", folder: ROOT, name: "a", attributes: FILE, sizeBytes: 3, disk });
      await expectSuperseded(h, { op: "externalRemove", folder: ROOT, name: "a", node: a });
      await expectSuperseded(h, { op: "externalWrite", node: a, sizeBytes: 1, change: {}, disk });
      await expectSuperseded(h, { op: "externalLink", node: a, folder: ROOT, name: "x", disk });
      await expectSuperseded(h, { op: "externalAttributes", node: a, change: { mode: 0 }, disk });
      await expectSuperseded(h, { op: "externalRemove", folder: ROOT, name: "b", node: b });
      await expectSuperseded(h, {
        op: "externalRename",
        folder: ROOT,
        name: "b",
        node: b,
        toFolder: ROOT,
        toName: "x",
        disk,
      });
      const d = await h.external(ROOT, "d");
      await expectSuperseded(h, {
        op: "externalRename",
        folder: ROOT,
        name: "d",
        node: d,
        toFolder: ROOT,
        toName: "a",
        disk,
      });
    }),
  );

  test(
    "by a committed content that is not up",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      await h.run(h.write(node, 1, "new"));
      await expectSuperseded(h, { op: "externalWrite", node, sizeBytes: 1, change: {}, disk });
      await expectSuperseded(h, { op: "externalRemove", folder: ROOT, name: "a", node });
      const b = await h.external(ROOT, "b");
      await expectSuperseded(h, {
        op: "externalRename",
        folder: ROOT,
        name: "b",
        node: b,
        toFolder: ROOT,
        toName: "a",
        disk,
      });
      await h.up(ROOT, "a");
      expect((await h.run({ op: "externalWrite", node, sizeBytes: 1, change: {}, disk })).change).toBeDefined();
    }),
  );

  test(
    "by a folder that the tree has lost, or that has names not up",
    using(async (h) => {
      const make = { op: "externalMake", folder: ROOT, name: "d", attributes: FOLDER, sizeBytes: 0, disk } as const;
      const folder = (await h.run(make)).result.node;
      const inner = await h.make(folder, "a");
      await expectSuperseded(h, { op: "externalRemove", folder: ROOT, name: "d", node: folder });
      await h.run(h.remove(folder, "a", inner));
      await h.run(h.remove(ROOT, "d", folder, true));
      await expectSuperseded(h, { ...make, folder, name: "x" });
    }),
  );

  test(
    "by a committed move that would make a circle",
    using(async (h) => {
      const make = { op: "externalMake", folder: ROOT, attributes: FOLDER, sizeBytes: 0, disk } as const;
      const a = (await h.run({ ...make, name: "a" })).result.node;
      const b = (await h.run({ ...make, name: "b" })).result.node;
      await h.run(h.rename([ROOT, "b"], b, [a, "b"]));
      await expectSuperseded(h, {
        op: "externalRename",
        folder: ROOT,
        name: "a",
        node: a,
        toFolder: b,
        toName: "a",
        disk,
      });
    }),
  );
}

function describeDiskRows(using: Using): void {
  test(
    "disk rows are found by name, node and handle",
    using(async (h) => {
      const rows = [diskRow(7, 3, "b"), diskRow(7, 3, "a", { version: 4 }), diskRow(8, 3, "ä"), diskRow(9, 2, "z")];
      const [b, a, umlaut, z] = rows;
      await h.store.recordApplied({ put: rows, removed: [], places: [], appliedSeq: 12 });
      expect((await h.store.facts()).appliedSeq).toBe(12);
      expect(await h.store.diskRows(3)).toEqual([a, b, umlaut]);
      expect(await h.store.diskRowsOfNode(7)).toEqual([a, b]);
      expect(await h.store.diskRowByHandle(digestOf("handle 7"))).toEqual(a);
      expect(await h.store.diskRowByHandle(digestOf("handle 9"))).toEqual(z);
      expect(await h.store.diskRowByHandle(digestOf("none"))).toBeUndefined();
      expect(await h.store.diskRow(2, "z")).toEqual(z);
      const names = [
        { folder: 2, name: "z" },
        { folder: 2, name: "none" },
        { folder: 3, name: "b" },
      ];
      expect(await h.store.diskRowsOf(names, [9, 7, 1])).toEqual({
        ofNames: [z, undefined, b],
        ofNodes: [[z], [a, b], []],
      });
    }),
  );

  test(
    "bringing up removes names before it puts rows, moves versions, and upSeq never goes back",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const { result } = await h.run(h.write(node, 0, "abc"));
      const version = { node, seq: result.version };
      const put = [diskRow(node, ROOT, "a", { version: result.version })];
      const removed = [
        { folder: ROOT, name: "a" },
        { folder: ROOT, name: "none" },
      ];
      const places = [
        { version, place: { at: "disk" } as const },
        { version: { node, seq: 77 }, place: { at: "lost" } as const },
      ];
      await h.store.recordApplied({ put, removed, places, appliedSeq: 2 });
      await h.store.recordApplied({ put: [], removed: [], places: [], appliedSeq: 1 });
      expect(await h.store.diskRows(ROOT)).toEqual(put);
      expect(await h.store.version(version)).toMatchObject({ place: { at: "disk" } });
      expect((await h.store.facts()).appliedSeq).toBe(2);
      await h.store.recordApplied({ put: [], removed, places: [], appliedSeq: 2 });
      expect(await h.store.diskRows(ROOT)).toEqual([]);
    }),
  );
}

function describePassed(using: Using): void {
  test(
    "[F166] what is up beyond upSeq is kept with what bringing up changed, until it is said anew",
    using(async (h) => {
      expect(await h.store.passed()).toEqual({ seq: 0, waiting: [] });
      const nothing = { put: [], removed: [], places: [] };
      const waiting = [4, 5, 6, 9, 2_000_000, 2_000_002];
      await h.store.recordApplied({ ...nothing, appliedSeq: 3, passed: { seq: 2_000_003, waiting } });
      expect(await h.store.passed()).toEqual({ seq: 2_000_003, waiting });
      await h.store.recordApplied({ ...nothing, appliedSeq: 3 });
      expect(await h.store.passed()).toEqual({ seq: 2_000_003, waiting });
      const isApplied = await appliedCommits(h.store);
      expect([3, 4, 6, 7, 9, 10, 2_000_002, 2_000_003, 2_000_004].filter(isApplied)).toEqual([3, 7, 10, 2_000_003]);
      await h.store.recordApplied({ ...nothing, appliedSeq: 3, passed: { seq: 2_000_004, waiting: [] } });
      expect(await h.store.passed()).toEqual({ seq: 2_000_004, waiting: [] });
    }),
  );
}

export function describeExternal(using: Using): void {
  describe("taking in what other programs did", () => describeTakenIn(using));
  describe("extended attributes on disk", () => describeXattrs(using));
  describe("an external operation is superseded", () => describeSuperseded(using));
  describe("disk rows", () => describeDiskRows(using));
  describe("what has passed others", () => describePassed(using));
}
