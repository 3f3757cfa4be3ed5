// Contract of MetaStore, part one: names (make, link, rename, remove) and attributes.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import type { TreeOperationOf } from "@runnel/shared/tree";
import type { Operation } from "../../src/meta/meta-store.ts";
import { FILE, FOLDER, ROOT } from "./meta-harness.ts";
import type { Harness } from "./meta-harness.ts";

type Using = (work: (h: Harness) => Promise<void>) => () => Promise<void>;

function describeMake(using: Using): void {
  test(
    "a new store has a root folder, mode 0755, and seq 0",
    using(async ({ store }) => {
      expect(await store.node(ROOT)).toMatchObject({ type: "folder", mode: 0o755, nlink: 2, seq: 0 });
      expect(await store.facts()).toMatchObject({
        formatVersion: 1,
        seq: 0,
        appliedSeq: 0,
        logSegment: 0,
        logOffset: 0,
      });
      expect(await store.list(ROOT, "", 10)).toEqual([]);
    }),
  );

  test(
    "make binds a name to a file with the empty version 0, and changes the folder's times",
    using(async (h) => {
      const node = await h.newNode();
      const { result, change } = await h.run({ op: "make", folder: ROOT, name: "a", node, attributes: FILE });
      expect(result).toEqual({ node, seq: 1, version: 0, conflict: false });
      expect(change).toMatchObject({ seq: 1, bindings: [{ folder: ROOT, name: "a", node }], replaces: undefined });
      expect(change?.nodes).toMatchObject([
        { node, type: "file", sizeBytes: 0, nlink: 1, version: 0, seq: 1, mtimeNs: 7n, ctimeNs: h.wallNs },
        { node: ROOT, nlink: 2, seq: 1, mtimeNs: h.wallNs, ctimeNs: h.wallNs },
      ]);
      expect(await h.store.lookup(ROOT, "a")).toEqual(change?.nodes[0]);
      const version = { node, seq: 0 };
      expect(await h.store.versionsOf(node)).toEqual([
        { version, sizeBytes: 0, hasRecipe: true, place: { at: "empty" } },
      ]);
      expect(await h.store.changesAfter(0, 10)).toEqual([change]);
    }),
  );

  test(
    "a folder has nlink 2 and one more for each subfolder; a symlink is as long as its target",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      await h.folder(folder, "e");
      const link = await h.make(folder, "s", { ...FILE, type: "symlink", target: "zu/ä" });
      expect(await h.store.nodes([ROOT, folder, link, 999_999])).toMatchObject([
        { nlink: 3 },
        { nlink: 3, mode: 0o755 },
        { nlink: 1, target: "zu/ä", sizeBytes: 5, version: 0 },
        undefined,
      ]);
      expect(await h.store.versionsOf(link)).toEqual([]);
    }),
  );

  test(
    "a taken name is Exists with the node; a folder over a folder is that folder and no change",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const [one, two] = [await h.newNode(), await h.newNode()];
      const file = { op: "make", folder: ROOT, name: "d", node: one, attributes: FILE } as const;
      expect(await h.refused(file)).toEqual({ kind: "Exists", detail: { node: folder } });
      const met = await h.run({ ...file, node: two, attributes: FOLDER });
      expect(met).toEqual({
        result: { node: folder, seq: 1, version: 0, conflict: false },
        change: undefined,
        isRepeated: false,
        ok: true,
      });
      expect((await h.store.facts()).seq).toBe(1);
      expect(await h.store.node(two)).toBeUndefined();
    }),
  );

  test(
    "an id in use or never given out is Invalid",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const again = { op: "make", folder: ROOT, name: "b", node, attributes: FILE } as const;
      expect((await h.refused(again)).kind).toBe("Invalid");
      expect((await h.refused({ ...again, node: 2 ** 52 })).kind).toBe("Invalid");
    }),
  );

  test(
    "names that cannot be are BadName with their rule",
    using(async (h) => {
      const node = await h.newNode();
      const bad = ["", ".", "..", "a/b", "a\0b", "x".repeat(256), "ä".repeat(128), "\ud800", ".runnel-store"];
      for (const name of bad) {
        const { kind, detail } = await h.refused({ op: "make", folder: ROOT, name, node, attributes: FILE });
        expect([name, kind, typeof detail.rule]).toEqual([name, "BadName", "string"]);
      }
      const name = "ä".repeat(127) + "x";
      expect(await h.make(ROOT, name)).toBe(node + 1);
      for (const target of ["", "a\0", "x".repeat(LIMITS.symlinkBytes + 1)]) {
        const attributes = { ...FILE, type: "symlink", target } as const;
        expect((await h.refused({ op: "make", folder: ROOT, name: "s", node, attributes })).kind).toBe("BadName");
      }
    }),
  );

  test(
    "the folder must be there and be a folder",
    using(async (h) => {
      const file = await h.make(ROOT, "a");
      const gone = await h.folder(ROOT, "d");
      await h.run(h.remove(ROOT, "d", gone, true));
      const node = await h.newNode();
      const make = { op: "make", name: "x", node, attributes: FILE } as const;
      expect(await h.refused({ ...make, folder: 4_000_000 })).toEqual({ kind: "NotFound", detail: { asOf: 3 } });
      expect(await h.refused({ ...make, folder: gone })).toEqual({ kind: "NotFound", detail: { asOf: 3 } });
      expect((await h.refused({ ...make, folder: file })).kind).toBe("NotFolder");
    }),
  );

  test(
    "[limit depth] no name is deeper",
    using(async (h) => {
      let folder = ROOT;
      for (let depth = 0; depth < LIMITS.depth; depth++) folder = await h.folder(folder, "d");
      const last = await h.folder(folder, "last");
      const make = { op: "make", folder: last, name: "x", node: await h.newNode(), attributes: FILE } as const;
      expect(await h.refused(make)).toEqual({ kind: "BadName", detail: { rule: "depth", limit: LIMITS.depth } });
    }),
  );

  test(
    "[limit depth] no name comes to lie deeper by a move of a folder above it",
    using(async (h) => {
      const chain = [ROOT];
      while (chain.length <= LIMITS.depth) chain.push(await h.folder(chain.at(-1) ?? ROOT, "d"));
      const at = (depth: number): number => chain[depth] ?? 0;
      const empty = await h.folder(ROOT, "empty");
      await h.run(h.rename([ROOT, "empty"], empty, [at(LIMITS.depth), "empty"]));
      const tall = await h.folder(ROOT, "tall");
      const inner = await h.folder(tall, "inner");
      for (let index = 0; index < 3; index++) await h.make(tall, String(index));
      await h.make(inner, "x");
      const tooDeep = { kind: "BadName", detail: { rule: "depth", limit: LIMITS.depth } };
      for (const depth of [LIMITS.depth, LIMITS.depth - 1])
        expect(await h.refused(h.rename([ROOT, "tall"], tall, [at(depth), "tall"]))).toEqual(tooDeep);
      const exchange = h.rename([at(LIMITS.depth - 1), "d"], at(LIMITS.depth), [ROOT, "tall"], "exchange");
      expect(await h.refused(exchange)).toEqual(tooDeep);
      await h.run(h.rename([ROOT, "tall"], tall, [at(LIMITS.depth - 2), "tall"]));
      await h.run(h.rename([at(LIMITS.depth - 2), "tall"], tall, [ROOT, "back"]));
    }),
  );

  test(
    "entries come in the order of their UTF-8 bytes, page by page",
    using(async (h) => {
      const names = ["b", "a", "Z", "ä", "\u{ff5e}", "\u{1f600}", "a b", "a-"];
      for (const name of names) await h.make(ROOT, name);
      const inOrder = ["Z", "a", "a b", "a-", "b", "ä", "\u{ff5e}", "\u{1f600}"];
      expect(await h.names(ROOT)).toEqual(inOrder);
      expect((await h.store.list(ROOT, "a b", 3)).map(({ name }) => name)).toEqual(["a-", "b", "ä"]);
    }),
  );
}

function describeLink(using: Using): void {
  test(
    "link gives a file a second name; removing one keeps the other",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const node = await h.make(ROOT, "b");
      const change = await h.change({ op: "link", node, folder, name: "a" });
      expect(change.nodes).toMatchObject([{ node, nlink: 2 }, { node: folder }]);
      expect(await h.store.namesOf(node)).toEqual([
        { folder: ROOT, name: "b" },
        { folder, name: "a" },
      ]);
      const removal = await h.change(h.remove(ROOT, "b", node));
      expect(removal.nodes[0]).toMatchObject({ node, nlink: 1 });
      expect(await h.store.namesOf(node)).toEqual([{ folder, name: "a" }]);
      expect(await h.store.lastName(node)).toBeUndefined();
      await h.change(h.remove(folder, "a", node));
      expect(await h.store.lastName(node)).toMatchObject({ folder, name: "a" });
    }),
  );

  test(
    "a folder cannot be linked, nor what lost its name, nor to a taken name",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const node = await h.make(ROOT, "a");
      const gone = await h.make(ROOT, "b");
      await h.run(h.remove(ROOT, "b", gone));
      expect((await h.refused({ op: "link", node: folder, folder: ROOT, name: "x" })).kind).toBe("Denied");
      expect((await h.refused({ op: "link", node: gone, folder: ROOT, name: "x" })).kind).toBe("NotFound");
      expect((await h.refused({ op: "link", node: 9_999_999, folder: ROOT, name: "x" })).kind).toBe("NotFound");
      expect(await h.refused({ op: "link", node, folder: ROOT, name: "d" })).toEqual({
        kind: "Exists",
        detail: { node: folder },
      });
    }),
  );
}

function describeRename(using: Using): void {
  test(
    "rename moves a name; the destination stands last in the change",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const moved = await h.folder(ROOT, "m");
      const change = await h.change(h.rename([ROOT, "m"], moved, [folder, "n"]));
      expect(change).toMatchObject({
        bindings: [
          { folder: ROOT, name: "m", node: 0 },
          { folder, name: "n", node: moved },
        ],
        nodes: [{ node: moved }, { node: ROOT, nlink: 3 }, { node: folder, nlink: 3 }],
        replaces: undefined,
      });
      expect([await h.names(ROOT), await h.names(folder)]).toEqual([["d"], ["n"]]);
    }),
  );

  test(
    "rename over a file records the node and version it replaces",
    using(async (h) => {
      const a = await h.make(ROOT, "a");
      const b = await h.make(ROOT, "b");
      const written = await h.run(h.write(b, 0, "old"));
      const change = await h.change(h.rename([ROOT, "a"], a, [ROOT, "b"]));
      expect(change.replaces).toEqual({ node: b, seq: written.result.version });
      expect(change.nodes).toMatchObject([{ node: a, nlink: 1 }, { node: b, nlink: 0 }, { node: ROOT }]);
      expect(await h.names(ROOT)).toEqual(["b"]);
      expect((await h.state(ROOT, "b")).node).toBe(a);
    }),
  );

  test(
    "the name must be bound to the node that is meant",
    using(async (h) => {
      const a = await h.make(ROOT, "a");
      const b = await h.make(ROOT, "b");
      expect(await h.refused(h.rename([ROOT, "c"], a, [ROOT, "d"]))).toEqual({ kind: "NotFound", detail: { asOf: 2 } });
      expect(await h.refused(h.rename([ROOT, "a"], b, [ROOT, "d"]))).toEqual({
        kind: "Stale",
        detail: { node: a, current: 0 },
      });
      expect((await h.refused(h.rename([ROOT, "a"], a, [777, "d"]))).kind).toBe("NotFound");
      expect((await h.refused(h.rename([ROOT, "a"], a, [b, "d"]))).kind).toBe("NotFolder");
      expect((await h.refused(h.rename([ROOT, "a"], a, [ROOT, ".."]))).kind).toBe("BadName");
    }),
  );

  test(
    "what may stand at the destination follows rename(2)",
    using(async (h) => {
      const file = await h.make(ROOT, "f");
      const empty = await h.folder(ROOT, "e");
      const full = await h.folder(ROOT, "g");
      await h.make(full, "x");
      const kind = async (from: string, node: number, to: string): Promise<string> =>
        (await h.refused(h.rename([ROOT, from], node, [ROOT, to]))).kind;
      expect(await kind("f", file, "e")).toBe("IsFolder");
      expect(await kind("e", empty, "f")).toBe("NotFolder");
      expect(await kind("e", empty, "g")).toBe("NotEmpty");
      const change = await h.change(h.rename([ROOT, "g"], full, [ROOT, "e"]));
      expect(change.replaces).toEqual({ node: empty, seq: 0 });
      expect(await h.store.nodes([ROOT, empty])).toMatchObject([{ nlink: 3 }, { nlink: 0 }]);
    }),
  );

  test(
    "a folder cannot move into itself or below, in any way of renaming",
    using(async (h) => {
      const a = await h.folder(ROOT, "a");
      const b = await h.folder(a, "b");
      const c = await h.folder(b, "c");
      expect((await h.refused(h.rename([ROOT, "a"], a, [a, "x"]))).kind).toBe("Invalid");
      expect((await h.refused(h.rename([ROOT, "a"], a, [c, "x"]))).kind).toBe("Invalid");
      expect((await h.refused(h.rename([ROOT, "a"], a, [b, "c"], "exchange"))).kind).toBe("Invalid");
      expect((await h.refused(h.rename([b, "c"], c, [ROOT, "a"], "exchange"))).kind).toBe("Invalid");
      expect((await h.refused(h.rename([b, "c"], c, [ROOT, "a"]))).kind).toBe("NotEmpty");
    }),
  );

  test(
    "two names of one node, and a name onto itself, are no change",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run({ op: "link", node, folder: ROOT, name: "b" });
      expect((await h.run(h.rename([ROOT, "a"], node, [ROOT, "b"]))).change).toBeUndefined();
      expect((await h.run(h.rename([ROOT, "a"], node, [ROOT, "a"]))).change).toBeUndefined();
      expect(await h.names(ROOT)).toEqual(["a", "b"]);
    }),
  );

  test(
    "keep refuses a bound destination; exchange needs one and swaps",
    using(async (h) => {
      const file = await h.make(ROOT, "f");
      const folder = await h.folder(ROOT, "d");
      const inner = await h.make(folder, "i");
      const keep = h.rename([ROOT, "f"], file, [folder, "i"], "keep");
      expect(await h.refused(keep)).toEqual({ kind: "Exists", detail: { node: inner } });
      expect((await h.refused(h.rename([ROOT, "f"], file, [ROOT, "x"], "exchange"))).kind).toBe("NotFound");
      const sub = await h.folder(folder, "s");
      const change = await h.change(h.rename([ROOT, "f"], file, [folder, "s"], "exchange"));
      expect(change).toMatchObject({
        bindings: [
          { folder: ROOT, name: "f", node: sub },
          { folder, name: "s", node: file },
        ],
        replaces: undefined,
      });
      expect(await h.store.nodes([ROOT, folder])).toMatchObject([{ nlink: 4 }, { nlink: 2 }]);
    }),
  );
}

function describeRemove(using: Using): void {
  test(
    "remove names what it removes",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const folder = await h.folder(ROOT, "d");
      await h.make(folder, "x");
      expect(await h.refused(h.remove(ROOT, "b", node))).toEqual({ kind: "NotFound", detail: { asOf: 3 } });
      expect(await h.refused(h.remove(ROOT, "a", folder))).toEqual({ kind: "Stale", detail: { node, current: 0 } });
      expect((await h.refused(h.remove(ROOT, "a", node, true))).kind).toBe("NotFolder");
      expect((await h.refused(h.remove(ROOT, "d", folder))).kind).toBe("IsFolder");
      expect((await h.refused(h.remove(ROOT, "d", folder, true))).kind).toBe("NotEmpty");
    }),
  );

  test(
    "what is removed keeps its node and versions, with nlink 0, and is what the change replaces",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const { result } = await h.run(h.write(node, 0, "abc"));
      const change = await h.change(h.remove(ROOT, "a", node));
      expect(change).toMatchObject({
        bindings: [{ folder: ROOT, name: "a", node: 0 }],
        nodes: [{ node, nlink: 0 }, { node: ROOT }],
        replaces: { node, seq: result.version },
      });
      expect(await h.store.lookup(ROOT, "a")).toBeUndefined();
      expect(await h.store.node(node)).toMatchObject({ nlink: 0, sizeBytes: 3 });
      expect(await h.store.versionsOf(node)).toHaveLength(2);
      const folder = await h.folder(ROOT, "d");
      await h.run(h.remove(ROOT, "d", folder, true));
      expect(await h.store.nodes([ROOT, folder])).toMatchObject([{ nlink: 2 }, { nlink: 0 }]);
    }),
  );
}

function describeSetAttr(using: Using): void {
  test(
    "setAttr changes what it names and ctime, and not the version",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const written = await h.run(h.write(node, 0, "abc"));
      const { result, change } = await h.run({ op: "setAttr", node, change: { mode: 0o600, mtimeNs: 99n } });
      expect(result).toEqual({ node, seq: 3, version: written.result.version, conflict: false });
      expect(change).toMatchObject({
        bindings: [],
        nodes: [{ mode: 0o600, uid: 1, gid: 2, mtimeNs: 99n, ctimeNs: h.wallNs, seq: 3 }],
      });
      const edit = await h.run(h.write(node, written.result.version, "abcd"));
      expect(edit.result.conflict).toBe(false);
      expect(await h.store.node(node)).toMatchObject({ mode: 0o600, sizeBytes: 4 });
    }),
  );

  test(
    "what lost its name keeps its attributes for all but the one who took it",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run(h.remove(ROOT, "a", node), "here");
      const operation = { op: "setAttr", node, change: { mode: 0o600 } } as const;
      expect((await h.refused(operation, "there")).kind).toBe("NotFound");
      expect((await h.change(operation, "here")).nodes).toMatchObject([{ node, nlink: 0, mode: 0o600 }]);
      expect((await h.refused({ ...operation, node: 5_000_000 })).kind).toBe("NotFound");
    }),
  );
}

/** A file "a" whose second version another client has written, and a file "new" that is to take its name. */
async function unseen(h: Harness): Promise<{ node: number; moved: number; seen: number; written: number }> {
  const node = await h.make(ROOT, "a");
  const { version: seen } = (await h.run(h.write(node, 0, "one"))).result;
  const moved = await h.make(ROOT, "new");
  const { version: written } = (await h.run(h.write(node, seen, "two"), "there")).result;
  return { node, moved, seen, written };
}

function describeExpected(using: Using): void {
  test(
    "a removal of a version that was not seen is refused; one that was seen goes, and one that has another name",
    using(async (h) => {
      const { node, seen, written } = await unseen(h);
      const removal = (version: number, own: number[] = []): TreeOperationOf<"remove"> => ({
        ...h.remove(ROOT, "a", node),
        expects: { node, version, own },
      });
      expect(await h.refused(removal(seen))).toEqual({ kind: "Stale", detail: { node, current: written } });
      await h.run({ op: "link", node, folder: ROOT, name: "b" });
      await h.run(removal(seen));
      await h.run({ ...h.remove(ROOT, "b", node), expects: { node, version: written, own: [] } });
      expect(await h.names(ROOT)).toEqual(["new"]);
    }),
  );

  test(
    "what an own operation has left counts as seen, whatever its client knows of it",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const request = h.request(h.write(node, 0, "one"));
      await h.batch([request]);
      const removal = { ...h.remove(ROOT, "a", node), expects: { node, version: 0, own: [request.id?.n ?? 0] } };
      expect((await h.refused(removal, "there")).kind).toBe("Stale");
      await h.run(removal);
      expect(await h.names(ROOT)).toEqual([]);
    }),
  );

  test(
    "a rename over a version that was not seen goes beside, and is a conflict; the next one takes that name",
    using(async (h) => {
      const { node, moved, seen, written } = await unseen(h);
      const expects = { node, version: seen, own: [] };
      const planned = await h.plan({ ...h.rename([ROOT, "new"], moved, [ROOT, "a"]), expects });
      const name = "a (conflict 2026-11-21 03.09.02)";
      expect(planned).toMatchObject({
        ok: true,
        result: { node: moved, conflict: true },
        operation: { toName: name, how: "keep" },
        paths: { path: name, from: "new" },
      });
      expect(await h.names(ROOT)).toEqual(["a", name]);
      expect((await h.state(ROOT, "a")).version).toBe(written);
      const next = await h.make(ROOT, "new");
      const again = { ...h.rename([ROOT, "new"], next, [ROOT, "a"]), expects: { node: moved, version: 0, own: [] } };
      expect((await h.run(again)).result).toMatchObject({ node: next, conflict: false });
      expect(await h.names(ROOT)).toEqual(["a", name]);
      expect((await h.state(ROOT, name)).node).toBe(next);
    }),
  );

  test(
    "a rename does what it says over what was seen, has another name, is no file, or is gone",
    using(async (h) => {
      const { node, moved, seen, written } = await unseen(h);
      const expects = { node, version: seen, own: [] };
      const over = { ...h.rename([ROOT, "new"], moved, [ROOT, "a"]), expects };
      expect((await h.refused({ ...over, how: "keep" })).kind).toBe("Exists");
      await h.run({ op: "link", node, folder: ROOT, name: "b" });
      expect((await h.run(over)).result.conflict).toBe(false);
      expect(await h.names(ROOT)).toEqual(["a", "b"]);
      const seenNow = { node, version: written, own: [] };
      expect((await h.run({ ...h.rename([ROOT, "a"], moved, [ROOT, "b"]), expects: seenNow })).result.conflict).toBe(
        false,
      );
      expect((await h.run({ ...h.rename([ROOT, "b"], moved, [ROOT, "a"]), expects })).result.conflict).toBe(false);
      const link = await h.make(ROOT, "l", { ...FILE, type: "symlink", target: "x" });
      expect((await h.run({ ...h.rename([ROOT, "a"], moved, [ROOT, "l"]), expects })).change?.replaces?.node).toBe(
        link,
      );
      expect(await h.names(ROOT)).toEqual(["l"]);
    }),
  );
}

function describePaths(using: Using): void {
  const pathsOf = async (h: Harness, operation: Operation): Promise<object> => {
    const planned = await h.plan(operation);
    if (!planned.ok) throw new Error(planned.error.message);
    const { path = "", names = [] } = planned.paths ?? {};
    return { path, names };
  };

  test(
    "are those of now, whatever was named, renamed and removed before",
    using(async (h) => {
      const [a, other] = [await h.folder(ROOT, "a"), await h.folder(ROOT, "other")];
      const file = await h.make(a, "x");
      const write = async (text: string): Promise<object> => {
        const { version } = await h.state(ROOT, "kept").catch(() => h.state(a, "x"));
        return pathsOf(h, h.write(file, version, text));
      };
      expect(await write("1")).toEqual({ path: "a/x", names: [] });
      await h.run({ op: "link", node: file, folder: ROOT, name: "kept" });
      expect(await write("2")).toEqual({ path: "kept", names: ["a/x"] });
      await h.run(h.rename([ROOT, "a"], a, [other, "b"]));
      expect(await write("3")).toEqual({ path: "kept", names: ["other/b/x"] });
      await h.run(h.rename([ROOT, "other"], other, [ROOT, "c"]));
      expect(await write("4")).toEqual({ path: "kept", names: ["c/b/x"] });
      await h.run(h.remove(a, "x", file));
      expect(await write("5")).toEqual({ path: "kept", names: [] });
      const over = await h.make(a, "over");
      await h.run({ op: "link", node: file, folder: a, name: "y" });
      expect(await write("6")).toEqual({ path: "kept", names: ["c/b/y"] });
      await h.run(h.rename([a, "over"], over, [a, "y"]));
      expect(await write("7")).toEqual({ path: "kept", names: [] });
      expect(await pathsOf(h, h.write(over, 0, "8"))).toEqual({ path: "c/b/y", names: [] });
    }),
  );

  test(
    "of a batch that was rolled back are forgotten",
    using(async (h) => {
      const a = await h.folder(ROOT, "a");
      await h.store.plan([h.request(h.rename([ROOT, "a"], a, [ROOT, "b"])), h.request(await makeIn(h, a, "x"))]);
      await h.store.rollback();
      expect(await pathsOf(h, await makeIn(h, a, "y"))).toEqual({ path: "a/y", names: [] });
    }),
  );
}

async function makeIn(h: Harness, folder: number, name: string): Promise<TreeOperationOf<"make">> {
  return { op: "make", folder, name, node: await h.newNode(), attributes: FILE };
}

export function describeNames(using: Using): void {
  describe("paths", () => describePaths(using));
  describe("make", () => describeMake(using));
  describe("link", () => describeLink(using));
  describe("rename", () => describeRename(using));
  describe("remove", () => describeRemove(using));
  describe("[W186] what a change expects to take a name of", () => describeExpected(using));
  describe("setAttr", () => describeSetAttr(using));
}
