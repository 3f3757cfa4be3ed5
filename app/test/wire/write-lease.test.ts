// The write lease as a client has it: asked for once, held for as long as the lease is, given back when all is sent.
import { beforeEach, expect, test } from "@jest/globals";
import { type Channel, ROOT_NODE, RunnelError, SimulatedClock } from "@runnel/shared";
import { WriteLease } from "../../src/agent/wire/write-lease.ts";

let clock: SimulatedClock;
let sent: unknown[];
let granted: boolean[];
let draining: PromiseWithResolvers<void>;
let isOffered: boolean;
let hasLease: boolean;
let feed: Channel | undefined;
let isSilent: boolean;
let lease: WriteLease;

beforeEach(() => {
  clock = new SimulatedClock();
  [sent, granted, isOffered, hasLease, isSilent] = [[], [], true, true, false];
  draining = Promise.withResolvers();
  feed = { send: (item: unknown) => void sent.push(item) } as unknown as Channel;
  lease = new WriteLease({
    clock,
    feed: () => feed,
    hasLease: () => hasLease,
    isOffered: () => isOffered,
    keepalive: {
      soon: async (answer) => {
        if (isSilent) throw new RunnelError("Unreachable", "acquire", "Nobody answers.");
        return answer;
      },
    },
    events: { granted: (isContinued) => void granted.push(isContinued), recalled: () => draining.promise },
  });
});

async function acquired(): Promise<void> {
  const held = lease.acquire();
  lease.granted(1, false);
  expect(await held).toBe(true);
  sent.length = 0;
}

test("programs that change something at once ask for it once", async () => {
  const both = [lease.acquire(), lease.acquire()];
  expect(sent).toEqual([["acquire", 1, ROOT_NODE]]);
  lease.granted(1, true);
  expect(await Promise.all(both)).toEqual([true, true]);
  expect(granted).toEqual([true]);
  expect(await lease.acquire()).toBe(true);
  expect(sent).toHaveLength(1);
});

test.each<[string, () => void]>([
  ["a server that knows nothing of it", () => (isOffered = false)],
  ["the lease", () => (hasLease = false)],
  ["a line", () => (feed = undefined)],
])("it is not asked for: %s", async (_what, lack) => {
  lack();
  expect(await lease.acquire()).toBe(false);
  expect(sent).toEqual([]);
});

test("refused, it is asked for again no sooner than the server says", async () => {
  const held = lease.acquire();
  lease.refused(1, 5_000);
  expect(await held).toBe(false);
  await clock.advance(4_999);
  expect(await lease.acquire()).toBe(false);
  expect(sent).toHaveLength(1);
  await clock.advance(1);
  void lease.acquire();
  expect(sent.at(-1)).toEqual(["acquire", 2, ROOT_NODE]);
});

test("an answer to an older question, or to none, grants nothing", async () => {
  lease.granted(1, false);
  expect(lease.isHeld).toBe(false);
  const held = lease.acquire();
  lease.granted(2, false);
  lease.refused(7, 1_000_000);
  expect(lease.isHeld).toBe(false);
  lease.granted(1, false);
  expect(await held).toBe(true);
});

test("it ends with the lease, and with the line, and is not held again by the next one", async () => {
  await acquired();
  hasLease = false;
  expect(lease.isHeld).toBe(false);
  lease.lost();
  hasLease = true;
  expect(lease.isHeld).toBe(false);
  const again = lease.acquire();
  lease.lost();
  expect(await again).toBe(false);
  // The answer to what was asked before: the server asks it back when somebody else wants it.
  lease.granted(2, true);
  expect(lease.isHeld).toBe(false);
});

test("recalled, it is held no more at once, and given back when all has been sent", async () => {
  await acquired();
  lease.recall();
  expect(lease.isHeld).toBe(false);
  expect(await lease.acquire()).toBe(false);
  expect(sent).toEqual([]);
  draining.resolve();
  await clock.advance(0);
  expect(sent).toEqual([["yield", ROOT_NODE]]);
  await clock.advance(1_000);
  void lease.acquire();
  expect(sent.at(-1)).toEqual(["acquire", 2, ROOT_NODE]);
});

test("recalled before it came, it is given back and never held", async () => {
  const held = lease.acquire();
  lease.recall();
  lease.granted(1, false);
  expect(await held).toBe(false);
  expect(granted).toEqual([]);
});

test("what could not be sent keeps it, and on another line nothing is given back", async () => {
  await acquired();
  lease.recall();
  draining.reject(new Error("The disk is full."));
  await clock.advance(0);
  expect(sent).toEqual([]);
  draining = Promise.withResolvers();
  lease.recall();
  feed = { send: (item: unknown) => void sent.push(item) } as unknown as Channel;
  draining.resolve();
  await clock.advance(0);
  expect(sent).toEqual([]);
});

test("a server that does not answer soon is not waited for", async () => {
  isSilent = true;
  expect(await lease.acquire()).toBe(false);
});
