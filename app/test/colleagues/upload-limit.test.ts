// The limit on what colleagues get.
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { UploadLimit } from "../../src/agent/colleagues/upload-limit.ts";

const never = new AbortController().signal;

test("what goes to colleagues takes the time that it takes at the limit, but for a second's worth at first", async () => {
  const clock = new SimulatedClock();
  const limit = new UploadLimit(clock, () => 1000);
  const goneMs: number[] = [];
  const beganMs = clock.bootMs();
  const taking = Array.from({ length: 5 }, async () => {
    await limit.take(500, never);
    goneMs.push(clock.bootMs() - beganMs);
  });
  await clock.advance(10_000);
  await Promise.all(taking);
  expect(goneMs).toEqual([0, 0, 500, 1000, 1500]);
});

test("without a limit nothing waits", async () => {
  const limit = new UploadLimit(new SimulatedClock(), () => undefined);
  for (let count = 0; count < 10; count++) await limit.take(1e9, never);
});

test("who stops waiting has taken nothing", async () => {
  const clock = new SimulatedClock();
  const limit = new UploadLimit(clock, () => 1000);
  const over = new AbortController();
  const taking = limit.take(1e9, over.signal);
  over.abort();
  await taking;
  const beganMs = clock.bootMs();
  await limit.take(1000, never);
  expect(clock.bootMs()).toBe(beganMs);
});
