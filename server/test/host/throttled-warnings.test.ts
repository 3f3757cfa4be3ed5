import { expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { ThrottledWarnings } from "../../src/host/throttled-warnings.ts";

test("ten warnings are said each minute, then how many were left out", async () => {
  const clock = new SimulatedClock();
  const said: string[] = [];
  const seldom = new ThrottledWarnings(clock, (message) => said.push(message));
  for (let count = 0; count < 25; count++) seldom.say(`warning ${count}`);
  expect(said).toEqual(Array.from({ length: 10 }, (_, count) => `warning ${count}`));
  await clock.advance(60_000);
  seldom.say("later");
  seldom.say("again");
  expect(said.slice(10)).toEqual(["later (And 15 times something like it.)", "again"]);
});
