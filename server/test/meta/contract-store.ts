// Contract of MetaStore, part four: batches, repetition, roll forward, and what is kept when a store is opened again.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import type { Notice } from "@runnel/shared";
import type { NodeOwner, PlanRequest, Planned } from "../../src/meta/meta-store.ts";
import { EPOCH, FILE, FOLDER, Harness, ROOT, digestOf, diskRow, replayOf, contentsOf } from "./meta-harness.ts";
import type { Place } from "./meta-harness.ts";

type Using = (work: (h: Harness, place: Place) => Promise<void>) => () => Promise<void>;

function describeBatches(using: Using): void {
  test(
    "an operation sees those before it in its batch; a refused one changes nothing",
    using(async (h) => {
      const [folder, file, other] = [await h.newNode(), await h.newNode(), await h.newNode()];
      const planned = await h.batch([
        h.request({ op: "make", folder: ROOT, name: "d", node: folder, attributes: FOLDER }),
        h.request({ op: "make", folder: ROOT, name: "d", node: file, attributes: FILE }),
        h.request({ op: "make", folder, name: "a", node: file, attributes: FILE }),
        h.request(h.write(file, 0, "abc")),
        h.request({ op: "make", folder: ROOT, name: "b", node: other, attributes: FILE }),
      ]);
      expect(planned.map((each) => (each.ok ? each.change?.seq : each.error.kind))).toEqual([1, "Exists", 2, 3, 4]);
      expect(await h.store.version({ node: file, seq: 3 })).toMatchObject({ place: { at: "pending", segment: 3 } });
      expect(await h.store.facts()).toMatchObject({ seq: 4, logSegment: 3, logOffset: 1000 });
    }),
  );

  test(
    "refuses of a batch what comes after something refused, with its reason, and goes on with the others",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const make = (name: string, after: number[]): PlanRequest => {
        const attributes = FILE;
        return { ...h.request({ op: "make", folder: ROOT, name, node: node + 1 + name.length, attributes }), after };
      };
      const requests = [make("a", []), make("bb", [0]), make("ccc", [1]), make("dddd", []), make("eeeee", [3])];
      const planned = await h.store.plan(requests);
      expect(planned.map((each) => (each.ok ? "done" : each.error.detail))).toEqual([
        { node },
        { node },
        { node },
        "done",
        "done",
      ]);
      await h.store.commit(new Map(), { segment: 0, offset: 0 });
      expect((await h.store.list(ROOT, "", 9)).map(({ name }) => name)).toEqual(["a", "dddd", "eeeee"]);
    }),
  );

  test(
    "reads see nothing of an open batch, do not wait for it, and see all of it after its commit",
    using(async (h) => {
      const node = await h.newNode();
      const request = h.request({ op: "make", folder: ROOT, name: "a", node, attributes: FILE });
      await h.store.plan([request]);
      expect(await h.store.lookup(ROOT, "a")).toBeUndefined();
      expect([(await h.store.facts()).seq, await h.store.list(ROOT, "", 9), await h.store.changesAfter(0, 9)]).toEqual([
        0,
        [],
        [],
      ]);
      expect(await h.store.result("here", 1)).toBeUndefined();
      await h.commit([request]);
      expect((await h.state(ROOT, "a")).node).toBe(node);
      expect(await h.store.changesAfter(0, 9)).toHaveLength(1);
    }),
  );

  test(
    "rollback undoes all of a batch, its results too, and the next one starts where it did",
    using(async (h) => {
      const a = await h.make(ROOT, "a");
      const external = {
        op: "externalMake",
        folder: ROOT,
        name: "x",
        attributes: FILE,
        sizeBytes: 3,
        disk: diskRow(0, 0, ""),
      } as const;
      const requests = [h.remove(ROOT, "a", a), external].map((operation) => h.request(operation));
      await h.store.plan(requests);
      await h.store.rollback();
      expect(await h.names(ROOT)).toEqual(["a"]);
      expect(await h.store.diskRows(ROOT)).toEqual([]);
      const [removed, made] = await h.batch(requests);
      expect(removed).toMatchObject({ ok: true, isRepeated: false, change: { seq: 2 } });
      expect(made).toMatchObject({ ok: true, change: { seq: 3 } });
    }),
  );

  test(
    "other writes and the next plan wait until the batch ends",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const request = h.request(h.write(node, 0, "abc"));
      await h.store.plan([request]);
      const order: string[] = [];
      const writes = [
        h.store.setPlace({ node, seq: 2 }, { at: "disk" }).then(() => order.push("place")),
        h.store.plan([]).then(() => order.push("plan")),
      ];
      await h.store.facts();
      order.push("commit");
      await h.commit([request]);
      await Promise.all(writes);
      await h.store.rollback();
      expect(order).toEqual(["commit", "place", "plan"]);
      expect(await h.store.version({ node, seq: 2 })).toMatchObject({ place: { at: "disk" } });
    }),
  );

  test(
    "a commit without the place of a content is a mistake and undoes the batch; one without a batch too",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const request = h.request(h.write(node, 0, "abc"));
      await h.store.plan([request]);
      await expect(h.store.commit(new Map(), { segment: 1, offset: 1 })).rejects.toThrow("No log place");
      expect((await h.state(ROOT, "a")).version).toBe(0);
      await expect(h.store.commit(new Map(), { segment: 1, offset: 1 })).rejects.toThrow("No batch");
      await expect(h.store.rollback()).rejects.toThrow("No batch");
      expect((await h.run(h.write(node, 0, "abc"))).result.version).toBe(2);
    }),
  );

  test(
    "what is handed in or out is not shared",
    using(async (h) => {
      const row = diskRow(7, 3, "a");
      const before = diskRow(7, 3, "a");
      await h.store.recordApplied({ put: [row], removed: [], places: [], appliedSeq: 0 });
      row.handle.fill(0);
      row.stat.mode = 0;
      const read = await h.store.diskRow(3, "a");
      expect(read).toEqual(before);
      read?.handle.fill(0);
      expect(await h.store.diskRow(3, "a")).toEqual(before);
    }),
  );
}

function describeRepetition(using: Using): void {
  test(
    "a repeated operation is answered with the stored result, in its batch too",
    using(async (h) => {
      const node = await h.newNode();
      const request = h.request({ op: "make", folder: ROOT, name: "a", node, attributes: FILE });
      const [first, second] = await h.batch([request, request]);
      expect(second).toEqual({ ...first, change: undefined, isRepeated: true, paths: undefined });
      expect((await h.batch([request]))[0]).toEqual(second);
      expect((await h.store.facts()).seq).toBe(1);
      const stored = await h.store.result("here", 1);
      expect(stored).toEqual({ digest: request.id?.digest, result: { node, seq: 1, version: 0, conflict: false } });
    }),
  );

  test(
    "a number used again for another operation is Invalid",
    using(async (h) => {
      const node = await h.newNode();
      const request = h.request({ op: "make", folder: ROOT, name: "a", node, attributes: FILE });
      await h.batch([request]);
      const reused = { ...request, id: { instance: "here", n: 1, digest: digestOf("other") } };
      expect((await h.batch([reused]))[0]).toMatchObject({ ok: false, error: { kind: "Invalid" } });
    }),
  );

  test(
    "a make that met a folder is repeated alike, a refused operation is decided anew",
    using(async (h) => {
      const folder = await h.folder(ROOT, "d");
      const node = await h.newNode();
      const met = h.request({ op: "make", folder: ROOT, name: "d", node, attributes: FOLDER });
      const refused = h.request({ op: "make", folder: ROOT, name: "d", node, attributes: FILE });
      await h.batch([met, refused]);
      await h.run(h.remove(ROOT, "d", folder, true));
      const [again, decided] = await h.batch([met, refused]);
      expect(again).toMatchObject({ ok: true, isRepeated: true, result: { node: folder } });
      expect(decided).toMatchObject({ ok: true, isRepeated: false, result: { node } });
    }),
  );

  test(
    "results are kept until reported received, up to the limit; then Busy",
    using(async (h) => {
      const node = await h.make(ROOT, "a");
      const chmod = { op: "setAttr", node, change: { mode: 0o600 } } as const;
      const more = Array.from({ length: LIMITS.outstandingOperations - 1 }, () => h.request(chmod));
      await h.batch(more);
      expect(await h.refused(chmod)).toEqual({ kind: "Busy", detail: { limit: LIMITS.outstandingOperations } });
      expect((await h.run(chmod, "there")).change).toBeDefined();
      expect((await h.batch([more[5] as PlanRequest]))[0]).toMatchObject({ isRepeated: true });
      await h.store.forgetResults("here", 4, [[2, 3]]);
      expect(await h.store.result("here", 1)).toBeUndefined();
      expect(await h.store.result("here", 2)).toBeDefined();
      expect(await h.store.result("here", 4)).toBeUndefined();
      await h.store.forgetResults("here", 2, []);
      expect(await h.store.result("here", 2)).toBeUndefined();
      expect(await h.store.result("here", 3)).toBeDefined();
      for (let free = 0; free < 3; free++) expect((await h.run(chmod)).change).toBeDefined();
      expect((await h.refused(chmod)).kind).toBe("Busy");
    }),
  );
}

/** A history with every kind of operation: the requests and what became of them. */
async function history(h: Harness): Promise<{ request: PlanRequest; planned: Planned }[]> {
  const done: { request: PlanRequest; planned: Planned }[] = [];
  const go = async (operation: Parameters<Harness["request"]>[0], instance?: string): Promise<number> => {
    const request = h.request(operation, instance);
    const [planned] = await h.batch([request]);
    if (planned?.ok !== true) throw new Error(`${operation.op} was refused`);
    done.push({ request, planned });
    return planned.result.node;
  };
  const make = async (folder: number, name: string, attributes = FILE): Promise<number> =>
    go({ op: "make", folder, name, node: await h.newNode(), attributes });
  const disk = diskRow(0, 0, "");
  const folder = await make(ROOT, "d", FOLDER);
  await make(ROOT, "d", FOLDER);
  const a = await make(folder, "a");
  await go(h.write(a, 0, "one"));
  await go(h.write(a, 0, "two"), "there");
  await go({ op: "link", node: a, folder: ROOT, name: "l" });
  await go(h.rename([ROOT, "l"], a, [folder, "m"]));
  await go({ op: "setAttr", node: a, change: { uid: 5 } });
  const b = await make(ROOT, "b");
  await go(h.remove(ROOT, "b", b), "there");
  await go(h.write(b, 0, "beside"));
  const x = await go({ op: "externalMake", folder: ROOT, name: "x", attributes: FILE, sizeBytes: 3, disk });
  await go({ op: "externalWrite", node: x, sizeBytes: 4, change: {}, disk });
  await go({ op: "externalRename", folder: ROOT, name: "x", node: x, toFolder: folder, toName: "y", disk });
  await go({
    op: "setRecipe",
    version: { node: x, seq: (await h.state(folder, "y")).version },
    recipe: { lengths: Uint32Array.of(4), digests: digestOf("y") },
  });
  await go({ op: "externalMake", folder, name: "a", attributes: FILE, sizeBytes: 3, disk });
  await go({ op: "externalRemove", folder, name: "y", node: x });
  return done;
}

function describeRollForward(using: Using): void {
  test(
    "a roll forward makes the rows that the commits made, and again changes nothing",
    using(async (h, place) => {
      const done = await history(h);
      const whole = await contentsOf(h.store);
      await h.store.close();
      place.discard();
      const again = new Harness(await place.open({ create: { epoch: EPOCH } }));
      await again.newNode();
      for (const each of done) await again.batch([replayOf(each)]);
      expect(await contentsOf(again.store)).toEqual(whole);
      await again.store.plan(done.map(replayOf));
      await again.store.commit(
        new Map(),
        await again.store.facts().then((facts) => ({ segment: facts.logSegment, offset: facts.logOffset })),
      );
      expect(await contentsOf(again.store)).toEqual(whole);
      await again.store.close();
    }),
  );

  test(
    "a log with a gap is Corrupt and leaves no batch open",
    using(async (h) => {
      const node = await h.newNode();
      const request = h.request({ op: "make", folder: ROOT, name: "a", node, attributes: FILE });
      const result = { node, seq: 5, version: 0, conflict: false };
      const change = { seq: 5, bindings: [], nodes: [], replaces: undefined };
      await expect(h.store.plan([{ ...request, replayed: { seq: 5, change, result } }])).rejects.toMatchObject({
        kind: "Corrupt",
      });
      expect((await h.batch([request]))[0]).toMatchObject({ ok: true });
    }),
  );

  test(
    "ids that a roll forward brings are not given out again",
    using(async (h) => {
      const root = await h.store.node(ROOT);
      if (root === undefined) throw new Error("no root");
      const state = { ...root, node: 500, type: "file", nlink: 1, seq: 1 } as const;
      const operation = {
        op: "externalMake",
        folder: ROOT,
        name: "a",
        attributes: FILE,
        sizeBytes: 0,
        disk: diskRow(0, 0, ""),
      } as const;
      const change = {
        seq: 1,
        bindings: [{ folder: ROOT, name: "a", node: 500 }],
        nodes: [state],
        replaces: undefined,
      };
      const result = { node: 500, seq: 1, version: 0, conflict: false };
      await h.batch([{ id: undefined, operation, wallNs: 1n, replayed: { seq: 1, change, result } }]);
      expect(await h.newNode()).toBe(501);
    }),
  );
}

function describeKept(using: Using): void {
  test(
    "a store opened again tells all it told before",
    using(async (h, place) => {
      await history(h);
      await h.store.setAttached("there", 20_000);
      await h.store.putChunks({ node: 2, seq: 2 }, { lengths: Uint32Array.of(3), digests: digestOf("c") });
      const whole = await contentsOf(h.store);
      await h.store.close();
      await expect(h.store.facts()).rejects.toMatchObject({ kind: "Unavailable" });
      await h.store.close();
      const again = new Harness(await place.open());
      expect(await contentsOf(again.store)).toEqual(whole);
      expect(await again.store.findChunks(digestOf("c"))).toHaveLength(1);
      await again.store.checkpoint();
      await again.store.close();
    }),
  );

  test(
    "an open batch is undone by close",
    using(async (h, place) => {
      const node = await h.newNode();
      await h.store.plan([h.request({ op: "make", folder: ROOT, name: "a", node, attributes: FILE })]);
      await h.store.close();
      const again = new Harness(await place.open());
      expect([(await again.store.facts()).seq, await again.names(ROOT)]).toEqual([0, []]);
      await again.store.close();
    }),
  );

  test(
    "creating needs an empty place, opening a store",
    using(async (h, place) => {
      await expect(place.open({ create: { epoch: EPOCH } })).rejects.toMatchObject({ kind: "Exists" });
      await h.store.close();
      place.discard();
      await expect(place.open()).rejects.toMatchObject({ kind: "NotFound" });
      const fresh = await place.open({ create: { epoch: "f".repeat(32) } });
      expect((await fresh.facts()).epoch).toBe("f".repeat(32));
      await fresh.close();
    }),
  );

  test(
    "ids are given out once, and only so many",
    using(async (h, place) => {
      const one = await h.store.allocateNodes(10);
      const two = await h.store.allocateNodes(1);
      expect([one, two]).toEqual([
        { first: 2, count: 10 },
        { first: 12, count: 1 },
      ]);
      for (const count of [0, -1, 1.5, 2 ** 40])
        await expect(h.store.allocateNodes(count)).rejects.toMatchObject({ kind: "Invalid" });
      await h.store.close();
      const again = await place.open();
      expect((await again.allocateNodes(1)).first).toBe(13);
      await again.close();
    }),
  );

  test(
    "[W12] an id that was given to a device is refused to others until that is forgotten",
    using(async (h, place) => {
      const [a, b] = ["a", "b"].map((device) => ({ device, instance: device.repeat(32) })) as [NodeOwner, NodeOwner];
      await h.store.allocateNodes(10, a);
      await h.store.allocateNodes(10, a);
      await h.store.allocateNodes(5, b);
      await h.store.allocateNodes(5);
      await h.store.allocateNodes(7, a);
      await h.store.close();
      const again = await place.open();
      const makes = async (owner: NodeOwner, nodes: number[]): Promise<unknown[]> => {
        const requests = nodes.map((node) => ({
          ...h.request({ op: "make", folder: ROOT, name: `${node}`, node, attributes: FILE }),
          owner,
        }));
        const planned = await again.plan(requests);
        await again.commit(new Map(), { segment: 0, offset: 0 });
        return planned.map((each) => (each.ok ? each.result.node : (each.error.detail as { rule?: string }).rule));
      };
      expect(await makes(b, [2, 21, 22, 27, 32])).toEqual(["node id", "node id", 22, 27, "node id"]);
      expect(await makes(a, [2, 21, 26, 32])).toEqual([2, 21, "node id", 32]);
      expect(await makes({ device: "c", instance: a.instance }, [3])).toEqual([3]);
      await again.forgetNodeOwner("a");
      expect(await makes(b, [4, 38])).toEqual([4, 38]);
      await again.close();
    }),
  );

  test(
    "[W183] which instance has the write lease is kept",
    using(async (h, place) => {
      expect(await h.store.writeLease()).toBe("");
      await h.store.setWriteLease("a");
      await h.store.setWriteLease("b");
      expect(await h.store.writeLease()).toBe("b");
      await h.store.close();
      const again = await place.open();
      expect(await again.writeLease()).toBe("b");
      await again.close();
    }),
  );

  test(
    "attached instances are listed until they are not",
    using(async ({ store }) => {
      for (const instance of ["b", "a", "b"]) await store.setAttached(instance, 20_000);
      await store.setAttached("a", 40_000);
      expect(await store.attached()).toEqual([
        { instance: "a", termMs: 40_000 },
        { instance: "b", termMs: 20_000 },
      ]);
      await store.setAttached("b", 0);
      await store.setAttached("c", 0);
      expect(await store.attached()).toEqual([{ instance: "a", termMs: 40_000 }]);
    }),
  );

  test(
    "changes are told page by page, and Gone when no longer kept",
    using(async (h) => {
      for (const name of ["a", "b", "c", "d"]) await h.make(ROOT, name);
      expect((await h.store.changesAfter(1, 2)).map(({ seq }) => seq)).toEqual([2, 3]);
      await h.store.forgetChanges(2);
      await h.store.forgetChanges(1);
      await expect(h.store.changesAfter(1, 2)).rejects.toMatchObject({ kind: "Gone" });
      expect((await h.store.changesAfter(2, 9)).map(({ seq }) => seq)).toEqual([3, 4]);
      await h.store.forgetChanges(99);
      expect(await h.store.changesAfter(4, 9)).toEqual([]);
      await h.make(ROOT, "e");
      expect((await h.store.changesAfter(4, 9)).map(({ seq }) => seq)).toEqual([5]);
    }),
  );
}

const lost = (node: number, seq: number, path: string): Notice => ({
  kind: "lost",
  path,
  node,
  seq,
  versions: 1,
  atMs: 1_790_000_000_000 + seq,
});

function describeNotices(using: Using): void {
  test(
    "they outlive the store, a closed and a killed one, in the order they came",
    using(async (h, place) => {
      const conflict = { kind: "conflict", path: "a", conflictCopy: "a (conflict)", atMs: 1 } as const;
      const missing = { kind: "missing", path: "docs/big", seq: 17, atMs: 2 } as const;
      const salvaged = { kind: "salvaged", changes: 3, atMs: 2 } as const;
      await h.store.note([conflict, missing, salvaged, lost(5, 9, "log")]);
      expect(await h.store.notices()).toEqual([conflict, missing, salvaged, lost(5, 9, "log")]);
      await h.store.close();
      const again = await place.open();
      expect(await again.notices()).toEqual([conflict, missing, salvaged, lost(5, 9, "log")]);
      await again.forgetNotices([missing, { ...conflict, conflictCopy: "another" }]);
      expect(await again.notices()).toEqual([conflict, salvaged, lost(5, 9, "log")]);
      await again.close();
    }),
  );

  test(
    "lost versions of one node are one notice, the newest, that counts them once each",
    using(async ({ store }) => {
      await store.note([lost(5, 9, "log"), lost(6, 10, "other")]);
      await store.note([lost(5, 11, ""), lost(5, 12, "moved")]);
      await store.note([lost(5, 12, "")]);
      expect(await store.notices()).toEqual([lost(6, 10, "other"), { ...lost(5, 12, "moved"), versions: 3 }]);
    }),
  );

  test(
    "[W45] [limit notices] of each kind the newest are kept",
    using(async ({ store }) => {
      const many = Array.from({ length: LIMITS.notices + 5 }, (_, index) => lost(index + 1, 1, String(index)));
      const conflict = { kind: "conflict", path: "a", conflictCopy: "b", atMs: 1 } as const;
      await store.note([conflict, ...many.slice(0, 10)]);
      await store.note(many.slice(10));
      expect(await store.notices()).toEqual([conflict, ...many.slice(5)]);
    }),
  );
}

export function describeStore(using: Using): void {
  describe("batches", () => describeBatches(using));
  describe("repetition", () => describeRepetition(using));
  describe("roll forward", () => describeRollForward(using));
  describe("what is kept", () => describeKept(using));
  describe("notices", () => describeNotices(using));
}
