// The tree with own changes laid over it: at every moment what it would be if the server had told all of them.
import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { type Change, type NodeState, ROOT_NODE } from "@runnel/shared";
import { planOperation } from "@runnel/shared/tree";
import { PendingTree } from "../../src/agent/changes/pending-tree.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH } from "../journal/journal-machine.ts";
import { ModelHistory, type Step, makeState } from "../replica/model-tree.ts";

const INSTANCE = "0".repeat(32);

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom("file", "file", "folder", "folder", "link", "remove", "rename", "rename", "chmod"),
  pick: fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12)),
});

/** A replica that knows the whole tree as of `seq`. */
function replicaOf(history: ModelHistory, seq: number): Replica {
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, history.state(0, ROOT_NODE) as NodeState);
  replica.putListing(ROOT_NODE, 0, [], true);
  replica.apply(history.changes.slice(0, seq));
  for (const folder of history.folders(seq)) replica.putListing(folder, seq, history.listing(seq, folder) ?? [], true);
  return replica;
}

function expectShown(pending: PendingTree, history: ModelHistory, seq: number): void {
  for (const folder of history.folders(seq)) {
    const shown = pending.listing(folder)?.map(({ name, state }) => [name, state.node, state.nlink, state.mode]);
    const wanted = history.listing(seq, folder)?.map(({ name, state }) => [name, state.node, state.nlink, state.mode]);
    expect(new Set(shown)).toEqual(new Set(wanted));
    // Names that are bound to nothing count too.
    if (wanted !== undefined && wanted.length > 0) expect(pending.mayHaveMore(folder, wanted.length - 1)).toBe(true);
    expect(pending.mayHaveMore(folder, 100)).toBe(false);
    for (const { name, state } of history.listing(seq, folder) ?? []) {
      expect(pending.lookup(folder, name)).toMatchObject({ is: "bound", state: { node: state.node } });
      expect(pending.namesOf(state.node)).toContainEqual({ folder, name });
      expect(pending.pathOf(state.node)?.split("/")).not.toHaveLength(0);
    }
    expect(pending.lookup(folder, "none").is).toBe("absent");
  }
}

test("shows all that was changed here, while the server tells of it change by change", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.nat(30), (steps, from) => {
      const history = new ModelHistory(steps);
      const known = Math.min(from, history.seq);
      const replica = replicaOf(history, known);
      const pending = new PendingTree(replica, (node) => node);
      for (const change of history.changes.slice(known)) {
        pending.add(change.seq, change);
        expectShown(pending, history, change.seq);
      }
      for (const change of history.changes.slice(known)) {
        replica.apply([change]);
        pending.heard([change]);
        // The answer to a make says that the folder is empty as of then.
        for (const { node, type } of change.nodes)
          if (type === "folder" && history.state(change.seq - 1, node) === undefined)
            replica.putListing(node, change.seq, [], true);
        expectShown(pending, history, history.seq);
      }
      expect(pending.isEmpty).toBe(true);
      replica.close();
    }),
  );
});

test("a change of which nothing comes is taken away, and what others did meanwhile shows", () => {
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, makeState(ROOT_NODE, "folder", 1));
  replica.putListing(ROOT_NODE, 1, [{ name: "a", state: makeState(50, "file", 1) }], true);
  const pending = new PendingTree(replica, (node) => node);
  const removal = { op: "remove", folder: ROOT_NODE, name: "a", node: 50, isFolder: false } as const;
  const { change } = planOperation(pending.rows(INSTANCE), removal, 9n, INSTANCE);
  if (change === undefined) throw new Error("Nothing was planned.");
  pending.add(7, change);
  expect(pending.lookup(ROOT_NODE, "a").is).toBe("absent");
  expect(pending.node(50)).toMatchObject({ nlink: 0 });
  expect(() => planOperation(pending.rows(INSTANCE), removal, 9n, INSTANCE)).toThrow(
    expect.objectContaining({ kind: "NotFound" }),
  );
  // Another client's save of the file is no news of the removal.
  const saved = { ...makeState(50, "file", 2), sizeBytes: 4, version: 2 };
  const save = { seq: 2, bindings: [], nodes: [saved], replaces: undefined };
  replica.apply([save]);
  pending.heard([save]);
  expect(pending.lookup(ROOT_NODE, "a").is).toBe("absent");
  expect(pending.end(7)).toBe(change);
  expect(pending.end(7)).toBeUndefined();
  expect(pending.lookup(ROOT_NODE, "a")).toMatchObject({ is: "bound", state: { node: 50, nlink: 1, sizeBytes: 4 } });
  expect(pending.isEmpty).toBe(true);
});

test("what others change is compared with those changes here only that are of such names, or of that node", () => {
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, makeState(ROOT_NODE, "folder", 1));
  replica.putListing(ROOT_NODE, 1, [], true);
  const pending = new PendingTree(replica, (node) => node);
  const make = (name: string, node: number): Change => {
    const bindings = [{ folder: ROOT_NODE, name, node }];
    return { seq: node, bindings, nodes: [makeState(node, "file", node)], replaces: undefined };
  };
  const chmod = (node: number): Change => ({ ...make("", node), bindings: [] });
  const compared: number[] = [];
  for (let node = 100; node < 200; node++) {
    const [made, changed] = [make(`own ${node}`, node), chmod(node)];
    for (const each of [...made.bindings, ...changed.nodes])
      Object.defineProperty(each, "node", { get: () => (compared.push(node), node) });
    pending.add(2 * node, made);
    pending.add(2 * node + 1, changed);
  }
  compared.length = 0;
  const told = [make("other", 300), { ...chmod(300), seq: 1 }];
  expect(told.map((change) => pending.has(change))).toEqual([false, false]);
  pending.heard(told);
  expect(compared).toEqual([]);
  expect([pending.has(make("own 150", 150)), pending.has(make("own 150", 151))]).toEqual([true, false]);
  expect([pending.has({ ...chmod(150), seq: 1 }), new Set(compared)]).toEqual([true, new Set([150])]);
});

test("a folder that was made here is known whole, another one is not until it is listed", () => {
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, makeState(ROOT_NODE, "folder", 1));
  const pending = new PendingTree(replica, (node) => node);
  const attributes = { ...makeState(9, "folder", 1), type: "folder" as const };
  expect(() =>
    planOperation(
      pending.rows(INSTANCE),
      { op: "make", folder: ROOT_NODE, name: "d", node: 9, attributes },
      9n,
      INSTANCE,
    ),
  ).toThrow(expect.objectContaining({ kind: "Unknown" }));
  replica.putListing(ROOT_NODE, 1, [], true);
  for (const [folder, name, node] of [
    [ROOT_NODE, "d", 9],
    [9, "e", 10],
  ] as const) {
    const make = { op: "make", folder, name, node, attributes } as const;
    const { change } = planOperation(pending.rows(INSTANCE), make, 9n, INSTANCE);
    if (change !== undefined) pending.add(node, change);
  }
  expect(pending.listing(9)?.map(({ name }) => name)).toEqual(["e"]);
  expect(pending.listing(10)).toEqual([]);
  expect(pending.pathOf(10)).toBe("d/e");
  expect(() =>
    planOperation(
      pending.rows(INSTANCE),
      { op: "remove", folder: ROOT_NODE, name: "d", node: 9, isFolder: true },
      9n,
      INSTANCE,
    ),
  ).toThrow(expect.objectContaining({ kind: "NotEmpty" }));
});

test("shows what was put into a folder that was made here, and was there already, in that one", () => {
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, makeState(ROOT_NODE, "folder", 1));
  replica.putListing(ROOT_NODE, 1, [], true);
  const reals = new Map<number, number>();
  const pending = new PendingTree(replica, (node) => reals.get(node) ?? node);
  const attributes = { ...makeState(9, "folder", 1), type: "folder" as const };
  const changes = [
    { folder: ROOT_NODE, name: "d", node: 9 },
    { folder: 9, name: "e", node: 10 },
    { folder: 9, name: "g", node: 11 },
  ].map((made) => {
    const { change } = planOperation(pending.rows(INSTANCE), { op: "make", ...made, attributes }, 9n, INSTANCE);
    if (change === undefined) throw new Error("Nothing was planned.");
    pending.add(made.node, change);
    return change;
  });
  const theirs = { ...makeState(50, "folder", 2), nlink: 1 };
  replica.putListing(ROOT_NODE, 2, [{ name: "d", state: theirs }], true);
  replica.putListing(50, 2, [{ name: "f", state: makeState(51, "file", 2) }], true);
  reals.set(9, 50);
  pending.rebind(9, 50);
  pending.end(9);
  expect(pending.listing(50)?.map(({ name }) => name)).toEqual(["e", "f", "g"]);
  expect(pending.lookup(50, "e")).toMatchObject({ is: "bound", state: { node: 10 } });
  expect([pending.pathOf(10), pending.namesOf(11)]).toEqual(["d/e", [{ folder: 50, name: "g" }]]);
  const [, told] = changes;
  if (told === undefined) throw new Error("Nothing was planned.");
  const nodes = told.nodes.map((state) => (state.node === 9 ? { ...state, node: 50 } : state));
  pending.heard([{ ...told, bindings: told.bindings.map((each) => ({ ...each, folder: 50 })), nodes }]);
  expect(pending.listing(50)?.map(({ name }) => name)).toEqual(["f", "g"]);
  pending.end(11);
  expect([pending.listing(50)?.map(({ name }) => name), pending.isEmpty]).toEqual([["f"], true]);
});

test("shows extended attributes as they are here: what the server told, with what was changed since", () => {
  const told = { ...makeState(5, "file", 3), nlink: 1, xattrSeq: 2 };
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, { ...makeState(ROOT_NODE, "folder", 1), nlink: 2 });
  replica.putListing(ROOT_NODE, 3, [{ name: "f", state: told }], true);
  const pending = new PendingTree(replica, (node) => node);
  const value = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
  const own = (n: number, name: string, to: Uint8Array | null): Change => {
    const xattr = [name, to] as const;
    const operation = { op: "setAttr", node: 5, change: { xattr } } as const;
    const { change } = planOperation(pending.rows(INSTANCE), operation, BigInt(n), INSTANCE);
    if (change === undefined) throw new Error("Nothing has changed.");
    pending.add(n, change, xattr);
    return change;
  };
  // The server has some, and which is not known.
  own(10, "user.b", value("here"));
  expect([pending.xattrs(5), pending.toldSeq(5)]).toEqual([undefined, 2]);
  expect(pending.withOwn(5, [["user.a", value("there")]])).toEqual([
    ["user.a", value("there")],
    ["user.b", value("here")],
  ]);
  const seqs = [pending.node(5)?.xattrSeq];
  pending.toldXattrs.set(5, { seq: 2, xattrs: [["user.a", value("there")]] });
  own(11, "user.a", null);
  seqs.push(pending.node(5)?.xattrSeq);
  expect(pending.xattrs(5)).toEqual([["user.b", value("here")]]);
  own(12, "user.b", null);
  expect([pending.xattrs(5), pending.node(5)?.xattrSeq]).toEqual([[], undefined]);
  pending.end(12);
  seqs.push(pending.node(5)?.xattrSeq);
  // A kernel that has them asks again whenever they are others.
  expect(new Set(seqs).size).toBe(2);
  for (const n of [10, 11]) pending.end(n);
  expect([pending.node(5)?.xattrSeq, pending.xattrs(5)]).toEqual([2, [["user.a", value("there")]]]);
});
