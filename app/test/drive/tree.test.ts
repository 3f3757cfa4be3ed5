// The tree over a replica, while files are made here that the server has not answered.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type NodeState, ROOT_NODE, RunnelError } from "@runnel/shared";
import { Tree } from "../../src/agent/drive/tree.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH } from "../journal/journal-machine.ts";
import { makeState } from "../replica/model-tree.ts";

const OWN = 1000;
const THEIRS = 50;
const MADE: NodeState = { ...makeState(OWN, "file", 0), nlink: 1, mtimeNs: 1n << 61n };
const making = { n: 1, settled: Promise.resolve() };
let replica: Replica;
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
  tree = new Tree(replica, ask);
});

async function namesOf(folder: number): Promise<string[]> {
  return (await tree.entries(folder)).map(({ name }) => name);
}

describe("a file that is made here", () => {
  test("is there before the server has answered, and its folder has a new time", async () => {
    tree.addMade(ROOT_NODE, "a", MADE, making);
    expect(await tree.lookup(ROOT_NODE, "a")).toBe(MADE);
    expect((await namesOf(ROOT_NODE)).toSorted()).toEqual(["a", "b"]);
    expect(tree.pathOf(OWN)).toBe("a");
    expect(tree.makingOf(OWN)).toBe(making);
    expect(tree.entry(await tree.node(ROOT_NODE)).mtimeNs).toBe(MADE.mtimeNs);
  });

  test("is as the replica knows it from when the feed has brought it, though its answer is still under way", async () => {
    tree.addMade(ROOT_NODE, "a", MADE, making);
    const state = { ...makeState(OWN, "file", 2), nlink: 1 };
    replica.apply([{ seq: 2, bindings: [{ folder: ROOT_NODE, name: "a", node: OWN }], nodes: [state] } as never]);
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ node: OWN, seq: state.seq });
    expect((await namesOf(ROOT_NODE)).filter((name) => name === "a")).toHaveLength(1);
    expect(tree.makingOf(OWN)).toBe(making);
    tree.endMade(OWN, { is: "answer" });
    expect(tree.makingOf(OWN)).toBeUndefined();
    expect(tree.pathOf(OWN)).toBe("a");
  });

  test("whose name existed stands for that node, whatever calls it so", async () => {
    tree.addMade(ROOT_NODE, "b", MADE, making);
    tree.endMade(OWN, { is: "exist", node: THEIRS });
    expect(tree.real(OWN)).toBe(THEIRS);
    expect(await tree.node(OWN)).toMatchObject({ node: THEIRS });
    expect(tree.refusalOf(OWN)).toBeUndefined();
  });

  test("that was refused is gone; what is written to it has its path and the refusal", async () => {
    const error = new RunnelError("Denied", "make", "No.");
    tree.addMade(ROOT_NODE, "a", MADE, making);
    tree.endMade(OWN, { is: "refuse", error });
    expect(await tree.lookup(ROOT_NODE, "a")).toBeUndefined();
    expect(await namesOf(ROOT_NODE)).toEqual(["b"]);
    expect(tree.refusalOf(OWN)).toBe(error);
    expect(tree.pathOf(OWN)).toBe("a");
    expect(tree.isNamed(OWN)).toBe(false);
  });
});
