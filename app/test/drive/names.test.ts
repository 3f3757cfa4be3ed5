// What a rename does to the file whose name it takes.
import { expect, test } from "@jest/globals";
import type { NodeState } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { Names, type NamesParts, type RequestOfOp } from "../../src/agent/drive/names.ts";
import { makeState } from "../replica/model-tree.ts";

const MOVER = 3;
const VICTIM = 4;

/** Which files a rename of "b" to "a" lets go of. */
async function letGo(isVictimNamed: boolean): Promise<number[]> {
  const names = new Map<string, NodeState>([
    ["b", makeState(MOVER, "file", 3)],
    ["a", { ...makeState(VICTIM, "file", 4), nlink: 1 }],
  ]);
  const gone: number[] = [];
  const parts = {
    tree: {
      real: (node: number) => node,
      lookup: async (_folder: number, name: string) => names.get(name),
      isNamed: (node: number) => node === VICTIM && isVictimNamed,
      entry: ({ node }: NodeState) => ({ node }),
    },
    operations: {
      change: async () => {
        names.set("a", makeState(MOVER, "file", 3));
        names.delete("b");
      },
    },
    unsent: { isEmpty: false, removed: async (node: number) => void gone.push(node) },
    likelyBases: { leaves: () => undefined },
    drive: { putEntries: () => undefined, done: () => undefined },
  };
  const request = {
    op: "rename",
    id: 1,
    folder: ROOT_NODE,
    name: "b",
    toFolder: ROOT_NODE,
    toName: "a",
    how: "replace",
  };
  await new Names(parts as unknown as NamesParts).rename(request as RequestOfOp<"rename">);
  return gone;
}

test("what could not be sent of a file is let go when its last name is taken", async () => {
  expect(await letGo(false)).toEqual([VICTIM]);
});

test("what could not be sent of a file is kept when another client has moved it before its old name was taken", async () => {
  expect(await letGo(true)).toEqual([]);
});
