// Page sessions, on the simulated clock.
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { PAGE_LIMITS } from "../../src/page/page-limits.ts";
import { PageSessions } from "../../src/page/page-sessions.ts";

function start(): { clock: SimulatedClock; sessions: PageSessions<string>; counts: number[] } {
  const clock = new SimulatedClock();
  const counts: number[] = [];
  const sessions: PageSessions<string> = new PageSessions(clock, () => counts.push(sessions.pages));
  return { clock, sessions, counts };
}

test("a page session lets pages in until none was open for ten minutes", async () => {
  const { clock, sessions, counts } = start();
  const token = sessions.start("Ada");
  await clock.advance(PAGE_LIMITS.idleMs - 1);
  const [first, second] = [sessions.enter(token), sessions.enter(token)];
  await clock.advance(10 * PAGE_LIMITS.idleMs);
  first?.leave();
  await clock.advance(PAGE_LIMITS.idleMs);
  second?.leave();
  expect(counts).toEqual([1, 2, 1, 0]);
  await clock.advance(PAGE_LIMITS.idleMs - 1);
  const third = sessions.enter(token);
  expect(third).toBeDefined();
  third?.leave();
  await clock.advance(PAGE_LIMITS.idleMs);
  expect(sessions.enter(token)).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});

test("are bounded: the one that waits for the longest ends, and with a page open in each there is none more", () => {
  const { sessions } = start();
  const tokens = Array.from({ length: PAGE_LIMITS.sessions }, () => sessions.start("Ada"));
  const leaves = tokens.map((token) => sessions.enter(token));
  expect(() => sessions.start("Ada")).toThrow(expect.objectContaining({ kind: "Busy" }));
  leaves[5]?.leave();
  leaves[3]?.leave();
  sessions.start("Ada");
  expect(sessions.enter(tokens[5] ?? "")).toBeUndefined();
  expect(sessions.enter(tokens[3] ?? "")).toBeDefined();
});

test("end all at once, also those with an open page", () => {
  const { clock, sessions } = start();
  const [open, waiting] = [sessions.start("Ada"), sessions.start("Ada")];
  const leave = sessions.enter(open);
  sessions.endAll();
  leave?.leave();
  for (const token of [open, waiting]) expect(sessions.enter(token)).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});
