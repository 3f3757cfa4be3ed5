import { expect, test } from "@jest/globals";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { PAGE_LIMITS } from "../../src/page/page-limits.ts";
import { WrongTokens } from "../../src/page/wrong-tokens.ts";

test("so many tokens may be wrong at once, then one in each grace time", async () => {
  const clock = new SimulatedClock();
  const wrong = new WrongTokens(clock);
  for (let time = 1; time < PAGE_LIMITS.wrongTokens; time += 1) wrong.add();
  expect(wrong.waitMs).toBe(0);
  wrong.add();
  expect(wrong.waitMs).toBe(PAGE_LIMITS.graceMs);
  await clock.advance(PAGE_LIMITS.graceMs);
  expect(wrong.waitMs).toBe(0);
  wrong.add();
  expect(wrong.waitMs).toBe(PAGE_LIMITS.graceMs);
  await clock.advance(PAGE_LIMITS.wrongTokens * PAGE_LIMITS.graceMs);
  for (let time = 1; time < PAGE_LIMITS.wrongTokens; time += 1) wrong.add();
  expect(wrong.waitMs).toBe(0);
});
