// A rename and the file whose name it takes; and attributes that are waited for.
import { describe, expect, test } from "@jest/globals";
import type { NodeState } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { Names, type NamesDeps } from "../../src/agent/drive/names.ts";
import type { RequestOfOp } from "../../src/agent/drive/request-of-op.ts";
import { makeState } from "../replica/model-tree.ts";

const MOVER = 3;
const VICTIM = 4;

/** Files that a rename of "b" to "a" releases. */
async function takeName(isVictimNamed: boolean): Promise<number[]> {
  const names = new Map<string, NodeState>([
    ["b", makeState(MOVER, "file", 3)],
    ["a", { ...makeState(VICTIM, "file", 4), nlink: 1 }],
  ]);
  const gone: number[] = [];
  const deps = {
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
  await new Names(deps as unknown as NamesDeps).rename(request as RequestOfOp<"rename">);
  return gone;
}

test("what could not be sent of a file is let go when its last name is taken", async () => {
  expect(await takeName(false)).toEqual([VICTIM]);
});

test("what could not be sent of a file is kept when another client has moved it before its old name was taken", async () => {
  expect(await takeName(true)).toEqual([]);
});

describe("attributes that are set to what they are", () => {
  const STATE: NodeState = { ...makeState(MOVER, "file", 3), mode: 0o640, uid: 5, gid: 6 };
  const NOW_NS = 7_000_000_000n;

  /** Says if the program is answered before the server has answered, and the ctime that it is shown then. */
  async function answered(
    change: Partial<RequestOfOp<"setattr">>,
    { hasLease = true, isBeingMade = false, isCrowded = false } = {},
  ): Promise<{ atOnce: boolean; ctimeNs: bigint | undefined }> {
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const asked: object[] = [];
    let shown: bigint | undefined;
    let isDone = false;
    const deps = {
      hasLease: () => hasLease,
      clock: { wallNs: () => NOW_NS },
      tree: {
        real: (node: number) => node,
        node: async () => STATE,
        makingOf: () => (isBeingMade ? { n: 1, settled: Promise.resolve() } : undefined),
        entry: (state: NodeState) => state,
      },
      operations: {
        isCrowded,
        change: async (_name: string, body: { change: object; timeNs: bigint }) => {
          asked.push(body.change);
          expect(body.timeNs).toBe(NOW_NS);
          await answer;
        },
      },
      drive: { putNode: (state: NodeState) => void (shown = state.ctimeNs), done: () => void (isDone = true) },
    };
    const request = { op: "setattr", id: 1, node: MOVER, ...change };
    const done = new Names(deps as unknown as NamesDeps).setAttributes(request as RequestOfOp<"setattr">);
    await new Promise((next) => setImmediate(next));
    const atOnce = isDone;
    resolve();
    await done;
    // Only the ctime is to be another one: whatever is changed after that stays.
    expect(asked).toEqual([atOnce ? {} : change]);
    return { atOnce, ctimeNs: shown };
  }

  test("cost no round trip under a lease, and show the time of it", async () => {
    const atOnce = { atOnce: true, ctimeNs: NOW_NS };
    expect(await answered({ uid: 5, gid: 6 })).toEqual(atOnce);
    expect(await answered({ mode: 0o640 })).toEqual(atOnce);
    expect(await answered({ mode: 0o640, uid: 5, gid: 6 })).toEqual(atOnce);
  });

  test("are waited for without one, while the file is being made, and when many changes are under way", async () => {
    for (const how of [{ hasLease: false }, { isBeingMade: true }, { isCrowded: true }])
      expect(await answered({ mode: 0o640 }, how)).toMatchObject({ atOnce: false });
  });

  test("are waited for when one of them is another, or a time is", async () => {
    for (const change of [{ mode: 0o600 }, { uid: 5, gid: 7 }, { mode: 0o640, mtimeNs: STATE.mtimeNs }])
      expect(await answered(change)).toMatchObject({ atOnce: false });
  });
});
