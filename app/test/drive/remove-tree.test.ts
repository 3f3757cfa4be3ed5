// Removing a folder of the drive: in one operation where that goes, else in few, however much is in it.
import { expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, RunnelError } from "@runnel/shared";
import { RemoveTree, type RemoveTreeDeps } from "../../src/agent/drive/remove-tree.ts";
import { makeState } from "../replica/model-tree.ts";

const MANY = 7;
const AS_OF = 20;

interface Asked {
  name: string;
  asOf: number;
  isPartial?: boolean;
}

/** A server with so many files in the folder "many". */
function serverOf(files: number, refuses?: RunnelError) {
  let left = files + 1;
  const asked: Asked[] = [];
  const notified: string[] = [];
  const looked: unknown[] = [];
  const deps = {
    tree: { find: async () => ({ folder: ROOT_NODE, name: "many", state: makeState(MANY, "folder", 3) }) },
    replica: { facts: () => ({ seq: AS_OF }), countBelow: () => files, pathOf: () => "many/changed" },
    session: {
      current: async () => undefined,
      elsewhere: { current: async (nodes: readonly number[], isDeep: boolean) => void looked.push([nodes, isDeep]) },
    },
    operations: {
      change: async (op: string, { isPartial, ...body }: Asked) => {
        asked.push({ ...body, ...(isPartial === undefined ? {} : { isPartial }), name: `${op} ${body.name}` });
        if (refuses !== undefined && asked.length > 2) throw refuses;
        if (left > LIMITS.removeAllNodes && isPartial !== true) throw new RunnelError("TooLarge", op, "Too many.");
        left = Math.max(0, left - LIMITS.removeAllNodes);
        return { node: left === 0 ? MANY : MANY + left, seq: AS_OF + 1, version: 0, conflict: false };
      },
    },
    progress: (removed: number, all: number) => void notified.push(`${removed} of ${all}`),
  };
  return { asked, notified, looked, remove: () => new RemoveTree(deps as unknown as RemoveTreeDeps).remove("many") };
}

const whole = { folder: ROOT_NODE, name: "removeAll many", node: MANY, asOf: AS_OF };

test("a folder that one operation takes goes with one", async () => {
  const { asked, notified, looked, remove } = serverOf(LIMITS.removeAllNodes - 1);
  await remove();
  expect({ asked, notified }).toEqual({ asked: [whole], notified: [] });
  // Others may have write leases on it, or below.
  expect(looked).toEqual([[[ROOT_NODE, MANY], true]]);
});

test.each([20_000, 200_000])(
  "[W120] a folder of %d files goes with few operations, and it is said how far that is",
  async (files) => {
    const { asked, notified, remove } = serverOf(files);
    await remove();
    const deps = Math.ceil((files + 1) / LIMITS.removeAllNodes);
    expect(asked).toEqual([whole, ...Array.from({ length: deps }, () => ({ ...whole, isPartial: true }))]);
    expect(notified).toEqual(Array.from({ length: deps }, (_, at) => `${at * LIMITS.removeAllNodes} of ${files}`));
  },
);

test("what others changed meanwhile ends it, by name", async () => {
  const stale = new RunnelError("Stale", "removeAll", "1 file was changed.", { detail: { nodes: [9] } });
  await expect(serverOf(20_000, stale).remove()).rejects.toMatchObject({
    kind: "Stale",
    message: expect.stringContaining("many/changed was changed meanwhile"),
  });
});
