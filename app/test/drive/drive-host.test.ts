// What the drive is told of feed items that come together.
import { expect, test } from "@jest/globals";
import type { DriveBinding } from "@runnel/native/drive";
import type { Change } from "@runnel/shared";
import { ROOT_NODE, RunnelError, SimulatedClock } from "@runnel/shared";
import { DriveHost, type DriveHostParts } from "../../src/agent/drive/drive-host.ts";
import { makeState } from "../replica/model-tree.ts";

const OTHERS = 3;
const OWN = 4;
const SILENCE_MS = 2000;

/** This client has renamed its file to "a", and has no answer yet. */
function hostOfRename(puts: { bindings: readonly DriveBinding[]; changed: boolean }[]): DriveHost {
  const parts = {
    replica: { apply: () => [], node: (node: number) => makeState(node, "file", node) },
    drive: {
      putEntries: (bindings: readonly DriveBinding[], changed: boolean) => void puts.push({ bindings, changed }),
      putNode: () => undefined,
    },
    operations: {
      isOwnName: (folder: number, name: string, node: number) =>
        folder === ROOT_NODE && ((name === "a" && node === OWN) || (name === "b" && node === 0)),
    },
    commits: { isOwnNode: () => false },
    tree: { entry: ({ node }: { node: number }) => ({ node }) },
  };
  return new DriveHost(parts as unknown as DriveHostParts);
}

function change(seq: number, ...bindings: [string, number][]): Change {
  return {
    seq,
    bindings: bindings.map(([name, node]) => ({ folder: ROOT_NODE, name, node })),
    nodes: [],
  } as unknown as Change;
}

test.each([
  ["another client's change of a name and then one from here", [change(5, ["a", OTHERS]), change(6, ["a", OWN])], OWN],
  ["one from here and then another client's", [change(5, ["a", OWN]), change(6, ["a", OTHERS])], OTHERS],
])("of %s the drive shows the last, and the kernel is told", (_order, changes, node) => {
  const puts: { bindings: readonly DriveBinding[]; changed: boolean }[] = [];
  hostOfRename(puts).apply(changes);
  expect(puts).toEqual([{ bindings: [{ folder: ROOT_NODE, name: "a", entry: { node } }], changed: true }]);
});

test("of changes from here the kernel is not told", () => {
  const puts: { bindings: readonly DriveBinding[]; changed: boolean }[] = [];
  hostOfRename(puts).apply([change(5, ["b", 0], ["a", OWN])]);
  expect(puts).toEqual([
    {
      bindings: [
        { folder: ROOT_NODE, name: "b", entry: undefined },
        { folder: ROOT_NODE, name: "a", entry: { node: OWN } },
      ],
      changed: false,
    },
  ]);
});

/** Answers a lookup; `isBackAfterMs`: the line has just broken, and is there again then. Returns how the answer came: offline, or when. */
async function lookUp(isBackAfterMs: number, hasLease = false): Promise<string> {
  const clock = new SimulatedClock();
  const beganMs = clock.bootMs();
  const nowMs = (): number => clock.bootMs() - beganMs;
  let answer = "";
  const session = {
    used: () => undefined,
    ownTime: { watch: () => () => undefined, totalLateMs: 0 },
    hasLease,
    get isResponsive() {
      return nowMs() >= isBackAfterMs;
    },
    get silenceLeftMs() {
      return this.isResponsive ? 0 : Math.max(0, SILENCE_MS - nowMs());
    },
    current: async () => {
      if (!session.isResponsive) throw new RunnelError("Unreachable", "current", "The line broke.");
    },
    responsive: (waitMs: number) =>
      new Promise<void>((resolve, reject) => {
        clock.after(Math.min(waitMs, isBackAfterMs - nowMs()), () =>
          session.isResponsive ? resolve() : reject(new RunnelError("Unreachable", "wait", "It is not there.")),
        );
      }),
  };
  const tree = { real: (node: number) => node, lookup: async () => undefined };
  const drive = {
    heartbeat: () => undefined,
    putEntries: () => undefined,
    done: () => (answer += `answered at ${nowMs()}`),
  };
  const parts = { session, tree, drive, clock, answersOffline: () => (answer += "offline, ") };
  const request = { id: 1, op: "lookup", folder: ROOT_NODE, name: "a" };
  new DriveHost(parts as unknown as DriveHostParts).requests([request] as never);
  await clock.runUntil(() => answer.includes("answered"), 10_000);
  return answer;
}

test("while a line has just broken a question waits for it as for a silence, and for one that is away longer it does not", async () => {
  expect(await lookUp(0)).toBe("answered at 0");
  expect(await lookUp(300)).toBe("answered at 300");
  expect(await lookUp(9000)).toBe("offline, answered at 2000");
  // What a lease still vouches for is known.
  expect(await lookUp(9000, true)).toBe("answered at 0");
});
