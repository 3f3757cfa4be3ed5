// A rename and the file whose name it takes; attributes that are waited for; and files that are used before they are
// made.
import { describe, expect, test } from "@jest/globals";
import type { NodeState } from "@runnel/shared";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import { OwnChanges } from "../../src/agent/changes/own-changes.ts";
import { Names, type NamesDeps } from "../../src/agent/drive/names.ts";
import type { RequestOfOp } from "../../src/agent/drive/request-of-op.ts";
import { Tree } from "../../src/agent/drive/tree.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { makeState } from "../replica/model-tree.ts";

/** Programs are answered when the server has done it. */
const LATE = {
  early: { stop: () => undefined },
  begins: async () => false,
  mustGo: () => undefined,
  sent: async () => undefined,
};

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
    writeBack: LATE,
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
      writeBack: LATE,
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

describe("a file that is created", () => {
  const NEW = 1000;
  const THEIRS = 50;

  /** Creates "a" in the root; the server answers when the test says how. */
  async function create(
    how: { isExclusive?: boolean; isCrowded?: boolean; name?: string; knowsCallers?: boolean } = {},
  ) {
    const replica = openReplica(":memory:", "boot 1");
    replica.reset("e", { ...makeState(ROOT_NODE, "folder", 1), nlink: 1, uid: 7, gid: 8 });
    replica.putListing(ROOT_NODE, 1, [], true);
    let next = 1;
    const changes = new OwnChanges({ instance: "", nextNumber: () => next++, ending: () => [] });
    const gone = async (): Promise<never> => {
      throw new RunnelError("Unreachable", "ask", "Nobody is asked.");
    };
    const tree = new Tree(replica, changes, { list: gone, stat: gone }, undefined, how.knowsCallers);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const calls: string[] = [];
    const deps = {
      writeBack: LATE,
      changes,
      tree,
      clock: { wallNs: () => 7n },
      operations: {
        mayChange: () => undefined,
        newNode: async () => NEW,
        isCrowded: how.isCrowded === true,
        send: async (n: number, _name: string, { node }: { node: number }) => {
          calls.push(`make ${n} ${node}`);
          return promise;
        },
      },
      problem: (sentence: string) => calls.push(sentence),
      drive: {
        putEntries: () => undefined,
        putNode: () => undefined,
        dropFolder: () => calls.push("drop"),
        created: (_id: number, { node }: { node: number }) => calls.push(`created ${node}`),
      },
    };
    const request = { op: "create", id: 1, folder: ROOT_NODE, name: "a", mode: 0o644, caller: { uid: 1, gid: 2 } };
    const created = new Names(deps as unknown as NamesDeps).create({
      isExclusive: false,
      ...request,
      ...how,
    } as unknown as RequestOfOp<"create">);
    created.catch(() => undefined);
    await new Promise((turn) => setImmediate(turn));
    const end = async (error?: RunnelError): Promise<void> => {
      const state = { ...makeState(NEW, "file", 2), nlink: 1 };
      if (error === undefined)
        replica.apply([{ seq: 2, bindings: [{ folder: ROOT_NODE, name: "a", node: NEW }], nodes: [state] } as never]);
      if (error === undefined) resolve();
      else reject(error);
      await new Promise((turn) => setImmediate(turn));
    };
    return { tree, changes, calls, created, end };
  }

  test("is answered before the server has made it, and is then as that knows it", async () => {
    const { tree, changes, calls, created, end } = await create();
    await created;
    expect(calls).toEqual([`make 1 ${NEW}`, `created ${NEW}`]);
    expect(tree.makingOf(NEW)).toMatchObject({ n: 1, names: [[ROOT_NODE, "a", NEW]] });
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ node: NEW, mode: 0o644, uid: 1, gid: 2 });
    expect(changes.isOwnName(ROOT_NODE, "a", NEW)).toBe(true);
    await end();
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ node: NEW, seq: 2 });
    expect(changes.isOwnName(ROOT_NODE, "a", NEW)).toBe(false);
    expect(changes.received).toEqual({ received: 1 });
  });

  test("belongs to whom its folder does where programs have no numbers that a server knows", async () => {
    const { tree, created } = await create({ knowsCallers: false });
    await created;
    expect(await tree.lookup(ROOT_NODE, "a")).toMatchObject({ uid: 7, gid: 8 });
  });

  test("stands for the one that was there, which is no problem of anybody", async () => {
    const { tree, calls, end } = await create();
    const settled = tree.makingOf(NEW)?.made.settled;
    await end(new RunnelError("Exists", "make", "It is there.", { detail: { node: THEIRS } }));
    await settled;
    expect(tree.real(NEW)).toBe(THEIRS);
    expect(calls.slice(2)).toEqual(["drop"]);
  });

  test("that the server refuses is a problem that is named, and what it was refused with is known", async () => {
    for (const [kind, isRefused] of [
      ["Denied", true],
      ["Unreachable", false],
    ] as const) {
      const { tree, changes, calls, end } = await create();
      const error = new RunnelError(kind, "make", "No.");
      await end(error);
      expect(tree.refusalOf(NEW)).toBe(isRefused ? error : undefined);
      expect(calls.slice(2)).toEqual(["drop", "The file a could not be created: No."]);
      expect(changes.received).toEqual({ received: 1 });
    }
  });

  test("is waited for where it must be the first, where many are under way, and where the name may be refused", async () => {
    for (const how of [{ isExclusive: true }, { isCrowded: true }, { name: "a?" }]) {
      const { tree, changes, calls, created, end } = await create(how);
      expect(calls).toEqual([`make 1 ${NEW}`]);
      expect(tree.makingOf(NEW)).toBeUndefined();
      await end(new RunnelError("Exists", "make", "It is there."));
      await expect(created).rejects.toMatchObject({ kind: "Exists" });
      expect(changes.received).toEqual({ received: 1 });
      expect(tree.refusalOf(NEW)).toBeUndefined();
    }
    const { calls, created, end } = await create({ isExclusive: true });
    await end();
    await created;
    expect(calls).toEqual([`make 1 ${NEW}`, `created ${NEW}`]);
  });
});
