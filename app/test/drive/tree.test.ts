// The tree over a replica, while files are made here that the server has not answered.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type NodeState, ROOT_NODE, RunnelError } from "@runnel/shared";
import type { OwnChange } from "../../src/agent/changes/own-change.ts";
import { OwnChanges } from "../../src/agent/changes/own-changes.ts";
import { Tree } from "../../src/agent/drive/tree.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH } from "../journal/journal-machine.ts";
import { makeState } from "../replica/model-tree.ts";

const OWN = 1000;
const THEIRS = 50;
const MADE: NodeState = { ...makeState(OWN, "file", 0), nlink: 1, mtimeNs: 1n << 61n };
let replica: Replica;
let changes: OwnChanges;
let tree: Tree;

beforeEach(() => {
  replica = openReplica(":memory:", "boot 1");
  const root = { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 };
  replica.reset(EPOCH, root);
  replica.putListing(ROOT_NODE, 1, [{ name: "b", state: { ...makeState(THEIRS, "file", 1), nlink: 1 } }], true);
  const ask = {
    list: async () => {
      throw new RunnelError("Unreachable", "list", "Nobody is there.");
    },
    stat: async () => [],
  };
  let next = 1;
  changes = new OwnChanges({ instance: "", nextNumber: () => next++, ending: () => [] });
  tree = new Tree(replica, changes, ask);
});

/** Makes a file in the root that is not answered yet. */
function addMade(name: string, state = MADE): OwnChange {
  const change = changes.begin([[ROOT_NODE, name, state.node]]);
  changes.noteMade(change, { folder: ROOT_NODE, name, state, settled: Promise.resolve() });
  return change;
}

async function namesOf(folder: number): Promise<string[]> {
  return (await tree.entries(folder)).map(({ name }) => name);
}

describe("a file that is made here", () => {
  test("is there before the server has answered, and its folder has a new time", async () => {
    const making = addMade("a");
    expect(await tree.lookup(ROOT_NODE, "a")).toBe(MADE);
    expect((await namesOf(ROOT_NODE)).toSorted()).toEqual(["a", "b"]);
    expect(tree.pathOf(OWN)).toBe("a");
    expect(tree.makingOf(OWN)).toBe(making);
    expect(tree.entry(await tree.node(ROOT_NODE)).mtimeNs).toBe(MADE.mtimeNs);
  });

  test("is as the replica knows it from when the feed has brought it, though its answer is still under way", async () => {
    const making = addMade("a");
    const state = { ...makeState(OWN, "file", 2), nlink: 1 };
    replica.apply([{ seq: 2, bindings: [{ folder: ROOT_NODE, name: "a", node: OWN }], nodes: [state] } as never]);
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ node: OWN, seq: state.seq });
    expect((await namesOf(ROOT_NODE)).filter((name) => name === "a")).toHaveLength(1);
    expect(tree.makingOf(OWN)).toBe(making);
    tree.endMade(OWN);
    expect(tree.makingOf(OWN)).toBeUndefined();
    expect(tree.pathOf(OWN)).toBe("a");
  });

  test("whose name existed stands for that node, whatever calls it so", async () => {
    addMade("b");
    tree.endMade(OWN, new RunnelError("Exists", "make", "It is there.", { detail: { node: THEIRS } }));
    expect(tree.real(OWN)).toBe(THEIRS);
    expect(await tree.node(OWN)).toMatchObject({ node: THEIRS });
    expect(tree.refusalOf(OWN)).toBeUndefined();
  });

  test("that was refused is gone; what is written to it has its path and the refusal", async () => {
    const error = new RunnelError("Denied", "make", "No.");
    addMade("a");
    tree.endMade(OWN, error);
    expect(await tree.lookup(ROOT_NODE, "a")).toBeUndefined();
    expect(await namesOf(ROOT_NODE)).toEqual(["b"]);
    expect(tree.refusalOf(OWN)).toBe(error);
    expect(tree.pathOf(OWN)).toBe("a");
    expect(tree.isNamed(OWN)).toBe(false);
  });

  test("that nobody knows about is gone, and not refused", async () => {
    for (const error of [new RunnelError("Unreachable", "make", "No answer."), new TypeError("A mistake.")]) {
      addMade("a");
      tree.endMade(OWN, error);
      expect(await tree.lookup(ROOT_NODE, "a")).toBeUndefined();
      expect([tree.refusalOf(OWN), tree.real(OWN), tree.makingOf(OWN)]).toEqual([undefined, OWN, undefined]);
    }
  });

  test("is answered once", () => {
    addMade("a");
    tree.endMade(OWN);
    expect(() => tree.endMade(OWN)).toThrow(TypeError);
  });

  test("shows in its folder, with its time, until it is answered", async () => {
    addMade("a");
    addMade("c", { ...MADE, node: OWN + 1, mtimeNs: MADE.mtimeNs + 1n });
    const touchedNs = async (): Promise<bigint> => tree.entry(await tree.node(ROOT_NODE)).mtimeNs;
    expect(await namesOf(ROOT_NODE)).toEqual(["b", "a", "c"]);
    expect(await touchedNs()).toBe(MADE.mtimeNs + 1n);
    tree.endMade(OWN + 1, new RunnelError("Denied", "make", "No."));
    expect(await namesOf(ROOT_NODE)).toEqual(["b", "a"]);
    expect(await touchedNs()).toBe(MADE.mtimeNs);
    tree.endMade(OWN, new RunnelError("Denied", "make", "No."));
    expect(await touchedNs()).toBeLessThan(MADE.mtimeNs);
  });

  test("gives its name to a later one, which keeps it when the first is answered", async () => {
    addMade("a");
    addMade("a", { ...MADE, node: OWN + 1 });
    expect(await namesOf(ROOT_NODE)).toEqual(["b", "a"]);
    tree.endMade(OWN, new RunnelError("Denied", "make", "No."));
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ node: OWN + 1 });
  });

  test("that was refused is remembered as long as a thousand others have not been", () => {
    const error = new RunnelError("Denied", "make", "No.");
    for (let node = OWN; node <= OWN + 1000; node++) {
      addMade(`${node}`, { ...MADE, node });
      tree.endMade(node, error);
    }
    expect(tree.refusalOf(OWN)).toBeUndefined();
    expect(tree.refusalOf(OWN + 1)).toBe(error);
  });
});
