// The budget of contents that wait to be sent: who waits, who is refused, and what a person is told.
import { beforeEach, expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock, settle } from "@runnel/shared";
import { UnsentBudget } from "../../src/agent/changes/unsent-budget.ts";

const LIMIT_BYTES = 1000;

let settings: { unsentBytes: number };
let clock: SimulatedClock;
let usedBytes: number;
let availableBytes: number;
let isConnected: boolean;
let isHeld: boolean;
let awaited: number;
let budget: UnsentBudget;

beforeEach(() => {
  clock = new SimulatedClock();
  settings = { unsentBytes: LIMIT_BYTES };
  [usedBytes, availableBytes, isConnected, isHeld, awaited] = [0, 1e9, true, false, 0];
  budget = new UnsentBudget({
    settings,
    clock,
    data: { space: async () => ({ availableBytes, totalBytes: 1e9, freeFiles: 1 }) as never },
    usedBytes: () => usedBytes,
    isConnected: () => isConnected,
    isHeld: () => isHeld,
    awaited: () => awaited++,
  });
});

/** Tells whether there is room for so much now, or how it is refused. */
async function roomFor(bytes: number): Promise<{ outcome: string }> {
  const asked = { outcome: "waits" };
  budget.room(bytes).then(
    () => (asked.outcome = "room"),
    ({ kind }: RunnelError) => (asked.outcome = kind),
  );
  await settle();
  return asked;
}

test("whoever would go beyond it is refused while all that waits is paused", async () => {
  usedBytes = 900;
  const asked = await roomFor(200);
  expect(asked.outcome).toBe("waits");
  expect([awaited, budget.isAwaited]).toEqual([1, true]);
  isHeld = true;
  budget.changed();
  await settle();
  expect([asked.outcome, budget.isAwaited]).toEqual(["NoSpace", false]);
  expect(budget.problem()).toMatch(/then nothing more can be saved until what is paused is resumed\.$/);
});

test("whoever would go beyond it waits until enough has been sent, and is told when there is no server any more", async () => {
  usedBytes = 600;
  expect(await roomFor(400)).toEqual({ outcome: "room" });
  const waiting = await roomFor(401);
  expect(waiting.outcome).toBe("waits");
  usedBytes = 599;
  budget.changed();
  await settle();
  expect(waiting.outcome).toBe("room");
  const late = await roomFor(500);
  isConnected = false;
  budget.changed();
  await settle();
  expect(late.outcome).toBe("NoSpace");
});

test("whoever waits hears of it when the server has no room for what waits", async () => {
  usedBytes = 1000;
  const waiting = await roomFor(1);
  budget.fail(new RunnelError("Quota", "write", "This device has used up its share."));
  await settle();
  expect(waiting.outcome).toBe("Quota");
});

test("without a server more than fits is refused; what is larger than all of it has room when nothing waits", async () => {
  isConnected = false;
  expect(await roomFor(5000)).toEqual({ outcome: "room" });
  usedBytes = 1;
  expect(await roomFor(1000)).toEqual({ outcome: "NoSpace" });
});

test("it is at most half of what the disk has for it, as of a moment ago", async () => {
  availableBytes = 300;
  usedBytes = 100;
  isConnected = false;
  expect(await roomFor(100)).toEqual({ outcome: "room" });
  expect(budget.limitBytes).toBe(200);
  expect(await roomFor(101)).toEqual({ outcome: "NoSpace" });
  availableBytes = 1e9;
  await clock.advance(2_000);
  expect(await roomFor(101)).toEqual({ outcome: "room" });
});

test("nobody is told of a budget of nothing while nothing waits", () => {
  settings.unsentBytes = 0;
  expect(budget.problem()).toBeUndefined();
  usedBytes = 1;
  expect(budget.problem()).toBeDefined();
});

test("a person is told from four fifths on", () => {
  usedBytes = 799;
  expect(budget.problem()).toBeUndefined();
  usedBytes = 800;
  expect(budget.problem()).toBe(
    "What waits to be sent takes 800 B of the 1000 B that it may take here; programs wait for the server then.",
  );
  isConnected = false;
  expect(budget.problem()).toContain("then nothing more can be saved until the server is back.");
});
