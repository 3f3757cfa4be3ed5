// Page sessions, on the simulated clock.
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { PAGE_LIMITS } from "../../src/agent/page/page-limits.ts";
import { PageSessions } from "../../src/agent/page/page-sessions.ts";

function start(): { clock: SimulatedClock; sessions: PageSessions; counts: number[] } {
  const clock = new SimulatedClock();
  const counts: number[] = [];
  const sessions: PageSessions = new PageSessions(clock, () => counts.push(sessions.pages));
  return { clock, sessions, counts };
}

test("a page session lets pages in until none was open for ten minutes", async () => {
  const { clock, sessions, counts } = start();
  const token = sessions.start();
  await clock.advance(PAGE_LIMITS.idleMs - 1);
  const [first, second] = [sessions.enter(token), sessions.enter(token)];
  await clock.advance(10 * PAGE_LIMITS.idleMs);
  first?.();
  await clock.advance(PAGE_LIMITS.idleMs);
  second?.();
  expect(counts).toEqual([1, 2, 1, 0]);
  await clock.advance(PAGE_LIMITS.idleMs - 1);
  const third = sessions.enter(token);
  expect(third).toBeDefined();
  third?.();
  await clock.advance(PAGE_LIMITS.idleMs);
  expect(sessions.enter(token)).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});

test("are bounded: the one that waits for the longest ends, and with a page open in each there is none more", () => {
  const { sessions } = start();
  const tokens = Array.from({ length: PAGE_LIMITS.sessions }, () => sessions.start());
  const leaves = tokens.map((token) => sessions.enter(token));
  expect(() => sessions.start()).toThrow(expect.objectContaining({ kind: "Busy" }));
  leaves[5]?.();
  leaves[3]?.();
  sessions.start();
  expect(sessions.enter(tokens[5] ?? "")).toBeUndefined();
  expect(sessions.enter(tokens[3] ?? "")).toBeDefined();
});

test("end all at once, also those with an open page", () => {
  const { clock, sessions } = start();
  const [open, waiting] = [sessions.start(), sessions.start()];
  const leave = sessions.enter(open);
  sessions.endAll();
  leave?.();
  for (const token of [open, waiting]) expect(sessions.enter(token)).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});
