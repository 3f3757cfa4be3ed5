// Contract of MetaStore, part two: contents, versions, recipes, and the chunk index.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { FILE, ROOT, digestOf, diskRow, recipeNamed } from "./meta-harness.ts";
import type { Harness } from "./meta-harness.ts";

type Using = (work: (h: Harness) => Promise<void>) => () => Promise<void>;

function describeXattrs(using: Using): void {
  test(
    "[W44] setAttr sets and removes extended attributes one by one, within the limits",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const set = (name: string, value: Uint8Array | null) =>
        h.run({ op: "setAttr", node, change: { xattr: [name, value] } });
      const two = await set("user.two", Buffer.from("2"));
      expect(two.change?.nodes).toMatchObject([{ node, xattrSeq: 2, version: 0, ctimeNs: h.wallNs }]);
      await set("user.one", Buffer.from(""));
      const texts = async (): Promise<string[][]> =>
        (await h.store.xattrs(node)).map(([name, value]) => [name, Buffer.from(value).toString()]);
      expect(await texts()).toEqual([
        ["user.one", ""],
        ["user.two", "2"],
      ]);
      await h.run({ op: "setAttr", node, change: { mode: 0o600 } });
      expect(await h.store.node(node)).toMatchObject({ xattrSeq: 3, seq: 4 });
      await set("user.one", null);
      await set("user.two", null);
      expect(await h.store.xattrs(node)).toEqual([]);
      expect((await h.store.node(node))?.xattrSeq).toBeUndefined();
      const large = new Uint8Array(LIMITS.xattrValueBytes);
      for (const name of ["user.a", "user.b", "user.c"]) await set(name, large);
      expect((await h.refused({ op: "setAttr", node, change: { xattr: ["user.d", large] } })).kind).toBe("NoSpace");
      const link = await h.make(ROOT, "l", { ...FILE, type: "symlink", target: "a" });
      const refused = await h.refused({ op: "setAttr", node: link, change: { xattr: ["user.a", large] } });
      expect(refused.kind).toBe("Denied");
    }),
  );

  test(
    "[limit xattrsBytes] [limit xattrValueBytes] of extended attributes fit a node together, and their names as well",
    using(async (h) => {
      const set = (node: number, name: string, bytes: number) =>
        ({ op: "setAttr", node, change: { xattr: [name, new Uint8Array(bytes)] } }) as const;
      const full = await h.make(ROOT, "full");
      // Each name counts with its NUL.
      const rest = LIMITS.xattrsBytes - 3 * LIMITS.xattrValueBytes - 4 * "user.a".length - 4;
      for (const name of ["user.a", "user.b", "user.c"]) await h.run(set(full, name, LIMITS.xattrValueBytes));
      expect((await h.refused(set(full, "user.d", rest + 1))).kind).toBe("NoSpace");
      await h.run(set(full, "user.d", rest));
      const named = await h.make(ROOT, "named");
      const long = (index: number): string => `user.${String(index).padStart(LIMITS.xattrNameBytes - 5, "n")}`;
      const names = LIMITS.xattrValueBytes / (LIMITS.xattrNameBytes + 1);
      for (let index = 0; index < names; index++) await h.run(set(named, long(index), 0));
      expect((await h.refused(set(named, "user.a", 0))).kind).toBe("NoSpace");
    }),
  );
}

function describeWrite(using: Using): void {
  test(
    "write makes a version that lies pending in the log, with its recipe",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const { result, change } = await h.run(h.write(node, 0, "abc", { attributes: { mode: 0o640 } }));
      expect(result).toEqual({ node, seq: 2, version: 2, conflict: false });
      const time = h.wallNs;
      expect(change?.nodes).toMatchObject([
        { node, sizeBytes: 3, version: 2, mode: 0o640, mtimeNs: time, ctimeNs: time },
      ]);
      const version = { node, seq: 2 };
      const place = { at: "pending", segment: 3, offset: 2000, length: 100 };
      expect(await h.store.version(version)).toEqual({ version, sizeBytes: 3, hasRecipe: true, place });
      expect(await h.store.recipe(version)).toEqual(recipeNamed("abc", 3));
      const emptied = await h.run(h.write(node, 2, "", { attributes: { mtimeNs: 5n } }));
      expect(await h.store.version({ node, seq: emptied.result.version })).toMatchObject({
        hasRecipe: true,
        place: { at: "empty" },
      });
      expect(await h.store.node(node)).toMatchObject({ sizeBytes: 0, mtimeNs: 5n });
      expect((await h.store.versionsOf(node)).map((row) => row.version.seq)).toEqual([0, 2, 3]);
    }),
  );

  test(
    "a base that is not current is a conflict, and the last close wins",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run(h.write(node, 0, "one"));
      const { result } = await h.run(h.write(node, 0, "two"));
      expect(result).toEqual({ node, seq: 3, version: 3, conflict: true });
      expect((await h.state(ROOT, "a")).version).toBe(3);
    }),
  );

  test(
    "the same content is no conflict",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run(h.write(node, 0, "one"));
      expect((await h.run(h.write(node, 0, "one"))).result.conflict).toBe(false);
    }),
  );

  test(
    "only a file that is known can be written, within the limits",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const fifo = await h.make(ROOT, "p", {
        type: "fifo",
        mode: 0o600,
        uid: 0,
        gid: 0,
        mtimeNs: 0n,
        rdev: 0,
        target: "",
      });
      const node = await h.make(ROOT, "a");
      expect((await h.refused(h.write(4_000_000, 0, "x"))).kind).toBe("NotFound");
      expect((await h.refused(h.write(folder, 0, "x"))).kind).toBe("IsFolder");
      expect((await h.refused(h.write(fifo, 0, "x"))).kind).toBe("Invalid");
      const content = { recipe: recipeNamed("abc", 3), sizeBytes: 4, runs: [], temp: "" };
      expect((await h.refused(h.write(node, 0, "", { content }))).kind).toBe("Invalid");
      const huge = { ...content, recipe: undefined, sizeBytes: LIMITS.fileBytes + 1 };
      expect(await h.refused(h.write(node, 0, "", { content: huge }))).toEqual({
        kind: "TooLarge",
        detail: { limit: LIMITS.fileBytes },
      });
    }),
  );
}

function describeNameless(using: Using): void {
  test(
    "whoever took the last name works on with the node, unseen",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run(h.remove(ROOT, "a", node), "here");
      const { result, change } = await h.run(h.write(node, 0, "abc"), "here");
      expect(result).toEqual({ node, seq: 3, version: 3, conflict: false });
      expect(change).toMatchObject({ bindings: [], nodes: [{ node, nlink: 0, sizeBytes: 3 }] });
      expect(await h.names(ROOT)).toEqual([]);
      const other = await h.make(ROOT, "b");
      const over = await h.make(ROOT, "c");
      await h.run(h.rename([ROOT, "c"], over, [ROOT, "b"]), "here");
      expect((await h.run(h.write(other, 0, "x"), "here")).result.node).toBe(other);
    }),
  );

  test(
    "a write to what another took away is kept beside, as a conflict",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const node = await h.make(folder, "report.txt");
      await h.run(h.remove(folder, "report.txt", node), "there");
      const { result, change } = await h.run(h.write(node, 0, "abc", { attributes: { mode: 0o600 } }), "here");
      expect(result).toMatchObject({ conflict: true, seq: 4, version: 4 });
      expect(result.node).not.toBe(node);
      const name = "report (conflict 2026-11-21 03.09.02).txt";
      expect(change?.bindings).toEqual([{ folder, name, node: result.node }]);
      expect(change?.nodes).toMatchObject([
        { node: result.node, nlink: 1, sizeBytes: 3, mode: 0o600, version: 4 },
        { node: folder, mtimeNs: h.wallNs },
      ]);
      expect(await h.store.version({ node: result.node, seq: 4 })).toMatchObject({ place: { at: "pending" } });
      expect(await h.newNode()).not.toBe(result.node);
      await h.run(h.write(node, 0, "more"), "here");
      expect(await h.names(folder)).toEqual(["report (conflict 2026-11-21 03.09.02 2).txt", name]);
    }),
  );

  test(
    "what is kept beside goes to the root when its folder is gone too",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const node = await h.make(folder, "a");
      await h.run(h.remove(folder, "a", node), "there");
      await h.run(h.remove(ROOT, "d", folder, true), "there");
      await h.run(h.write(node, 0, "abc"), "here");
      expect(await h.names(ROOT)).toEqual(["a (conflict 2026-11-21 03.09.02)"]);
    }),
  );

  test(
    "a file renamed over by another is kept beside, one removed by a program on the server too",
    using(async (h) => {
      const lost = await h.make(ROOT, "b.c");
      const a = await h.make(ROOT, "a");
      await h.run(h.rename([ROOT, "a"], a, [ROOT, "b.c"]), "there");
      expect((await h.run(h.write(lost, 0, "x"), "here")).result.conflict).toBe(true);
      const node = await h.external(ROOT, "z");
      await h.run({ op: "externalRemove", folder: ROOT, name: "z", node });
      expect((await h.run(h.write(node, 0, "x"), "")).result.conflict).toBe(true);
      expect(await h.names(ROOT)).toEqual([
        "b (conflict 2026-11-21 03.09.02).c",
        "b.c",
        "z (conflict 2026-11-21 03.09.02)",
      ]);
    }),
  );
}

function describeVersions(using: Using): void {
  test(
    "places move, and a version that is not current can be forgotten",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      await h.run(h.write(node, 0, "one"));
      await h.run(h.write(node, 2, "two"));
      const { stat } = diskRow(1, 1, "");
      const [old, current] = [
        { node, seq: 2 },
        { node, seq: 3 },
      ];
      await h.store.setPlace(old, { at: "trash", file: "x1", stat });
      await h.store.setPlace(current, { at: "disk" });
      expect((await h.store.versionsOf(node)).map((row) => row.place)).toEqual([
        { at: "empty" },
        { at: "trash", file: "x1", stat },
        { at: "disk" },
      ]);
      await h.store.forgetVersion(old);
      expect([await h.store.version(old), await h.store.recipe(old)]).toEqual([undefined, undefined]);
      await h.store.setPlace(old, { at: "lost" });
      expect(await h.store.version(old)).toBeUndefined();
      await expect(h.store.forgetVersion(current)).rejects.toMatchObject({ kind: "Invalid" });
    }),
  );

  test(
    "setRecipe gives a version its recipe once and changes nothing else",
    using(async (h) => {
      const node = await h.external(ROOT, "a");
      await h.external(ROOT, "empty", 0);
      const version = { node, seq: 1 };
      expect(await h.store.withoutRecipe(10)).toEqual([version]);
      const operation = { op: "setRecipe", version, recipe: recipeNamed("abc", 3) } as const;
      expect((await h.refused({ ...operation, recipe: recipeNamed("abcd", 4) })).kind).toBe("Invalid");
      expect((await h.refused({ ...operation, version: { node, seq: 9 } })).kind).toBe("Gone");
      expect((await h.run(operation)).change).toBeUndefined();
      await h.run({ ...operation, recipe: recipeNamed("xyz", 3) });
      expect(await h.store.recipe(version)).toEqual(recipeNamed("abc", 3));
      expect(await h.store.version(version)).toMatchObject({ hasRecipe: true, place: { at: "disk" } });
      expect(await h.store.withoutRecipe(10)).toEqual([]);
      expect((await h.store.facts()).seq).toBe(2);
    }),
  );

  test(
    "without a recipe are current versions of named files only",
    using(async (h) => {
      const [a, b, c] = [await h.external(ROOT, "a"), await h.external(ROOT, "b"), await h.external(ROOT, "c")];
      await h.run(h.write(a, 1, "new"));
      await h.run({ op: "externalRemove", folder: ROOT, name: "b", node: b });
      expect(await h.store.withoutRecipe(10)).toEqual([{ node: c, seq: 3 }]);
      expect(await h.store.withoutRecipe(0)).toEqual([]);
      expect(await h.store.withoutRecipe(10, c - 1)).toEqual([{ node: c, seq: 3 }]);
      expect(await h.store.withoutRecipe(10, c)).toEqual([]);
    }),
  );

  test(
    "the chunk index finds what was put, forgets when cleared, and takes wrong rows",
    using(async (h) => {
      const [one, two] = [digestOf("one"), digestOf("two")];
      const recipe = { lengths: Uint32Array.of(10, 20), digests: new Uint8Array(Buffer.concat([one, two])) };
      const version = { node: 4, seq: 5 };
      await h.store.putChunks(version, recipe);
      const asked = new Uint8Array(Buffer.concat([two, digestOf("three"), one]));
      const found = [{ version, offset: 10, length: 20 }, undefined, { version, offset: 0, length: 10 }];
      expect(await h.store.findChunks(asked)).toEqual(found);
      await h.store.putChunks({ node: 6, seq: 7 }, { lengths: Uint32Array.of(1), digests: two });
      expect((await h.store.findChunks(two))[0]).toEqual({ version: { node: 6, seq: 7 }, offset: 0, length: 1 });
      await h.store.clearChunks();
      expect(await h.store.findChunks(asked)).toEqual([undefined, undefined, undefined]);
      await expect(h.store.findChunks(one.subarray(1))).rejects.toMatchObject({ kind: "Invalid" });
    }),
  );
}

export function describeContent(using: Using): void {
  describe("extended attributes", () => describeXattrs(using));
  describe("write", () => describeWrite(using));
  describe("write to what lost its name", () => describeNameless(using));
  describe("versions and recipes", () => describeVersions(using));
}
