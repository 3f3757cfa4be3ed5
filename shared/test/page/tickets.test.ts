// Tickets, on the simulated clock.
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { PAGE_LIMITS } from "../../src/page/page-limits.ts";
import { Tickets } from "../../src/page/tickets.ts";
import { TOKEN } from "../../src/page/tokens.ts";

test("a ticket is 256 bits, and good once", () => {
  const tickets = new Tickets<string>(new SimulatedClock());
  const [one, two] = [tickets.issue("one"), tickets.issue("two")];
  for (const token of [one, two]) {
    expect(token).toMatch(TOKEN);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
  }
  expect(tickets.redeem(two)).toBe("two");
  expect(tickets.redeem(two)).toBeUndefined();
  expect(tickets.redeem(one)).toBe("one");
});

test.each(["", "x", "A".repeat(43), "A".repeat(44), `${"A".repeat(42)}=`, "ä".repeat(43)])(
  "%j is no ticket",
  (token) => {
    const tickets = new Tickets<true>(new SimulatedClock());
    tickets.issue(true);
    expect(tickets.redeem(token)).toBeUndefined();
  },
);

test("a ticket is void after a minute, and says so once", async () => {
  const clock = new SimulatedClock();
  const tickets = new Tickets<true>(clock);
  const ends: string[] = [];
  const [used, late] = [tickets.issue(true, () => ends.push("used")), tickets.issue(true, () => ends.push("late"))];
  await clock.advance(PAGE_LIMITS.ticketMs - 1);
  expect(tickets.redeem(used)).toBe(true);
  await clock.advance(1);
  expect(tickets.redeem(late)).toBeUndefined();
  expect(ends).toEqual(["used", "late"]);
  expect(clock.pendingTimers).toBe(0);
});

test("with too many tickets the oldest is void; and so are all at the end", () => {
  const clock = new SimulatedClock();
  const tickets = new Tickets<number>(clock);
  const tokens = Array.from({ length: PAGE_LIMITS.tickets + 1 }, (_, number) => tickets.issue(number));
  expect(tickets.redeem(tokens[0] ?? "")).toBeUndefined();
  expect(tickets.redeem(tokens[1] ?? "")).toBe(1);
  tickets.voidAll();
  expect(tickets.redeem(tokens[2] ?? "")).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});
