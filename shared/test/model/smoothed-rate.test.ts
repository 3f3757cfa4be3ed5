// The rate that a person is shown.
import { expect, test } from "@jest/globals";
import { SmoothedRate } from "../../src/model/smoothed-rate.ts";

test("is that of the first look at once, then follows within seconds, and is not asked too often", () => {
  const rate = new SmoothedRate(1_000, 500);
  rate.sample(1_100, 1_500);
  expect(rate.perSecond).toBe(0);
  rate.sample(2_000, 1_500);
  expect(rate.perSecond).toBe(1_000);
  rate.sample(3_000, 1_500);
  expect(rate.perSecond).toBeCloseTo(1_000 * Math.exp(-1 / 3));
  for (let second = 4; second < 40; second++) rate.sample(second * 1_000, second * 200);
  expect(rate.perSecond).toBeCloseTo(200, 0);
});

test("falls to nothing when its count begins anew, and is never less", () => {
  const rate = new SmoothedRate(0);
  rate.sample(1_000, 1_000);
  rate.restart();
  rate.sample(2_000, 0);
  expect(rate.perSecond).toBeLessThan(1_000);
  rate.sample(3_000, -1_000);
  expect(rate.perSecond).toBeGreaterThan(0);
});
