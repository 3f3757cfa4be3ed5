import { describe, expect, test } from "@jest/globals";
import { sleep } from "../../../src/host/clock.ts";
import { SimulatedClock } from "../../../src/host/simulated/simulated-clock.ts";

describe("the simulated clock", () => {
  test("fires in order of time, then of making, each at its time", async () => {
    const clock = new SimulatedClock({ bootMs: 0 });
    const fired: string[] = [];
    for (const [name, delayMs] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["e", 41],
      ["d", 30],
    ] as const) {
      clock.after(delayMs, () => fired.push(`${name}@${clock.bootMs()}`));
    }
    await clock.advance(40);
    expect(fired).toEqual(["a@10", "b@10", "c@30", "d@30"]);
    expect(clock.bootMs()).toBe(40);
    expect(clock.pendingTimers).toBe(1);
  });

  test("moves on for whoever waits for less than can be added to its time", async () => {
    const beganMs = 8_489.25;
    const clock = new SimulatedClock({ bootMs: beganMs });
    let firedMs = 0;
    clock.after(5e-13, () => (firedMs = clock.bootMs()));
    await clock.advance(1);
    expect(firedMs).toBeGreaterThan(beganMs);
  });

  test("lets promises settle between two timers, so that what they start comes in time", async () => {
    const clock = new SimulatedClock({ bootMs: 0 });
    const seen: number[] = [];
    const walk = async (): Promise<void> => {
      for (let step = 0; step < 5; step++) {
        await sleep(clock, 10);
        await Promise.resolve().then(() => Promise.resolve());
        seen.push(clock.bootMs());
      }
    };
    const walking = walk();
    await clock.advance(35);
    expect(seen).toEqual([10, 20, 30]);
    expect(await clock.runUntilIdle()).toBe(true);
    expect(seen).toEqual([10, 20, 30, 40, 50]);
    await walking;
  });

  test("keeps cancelled timers silent, and cancelling a fired one is harmless", async () => {
    const clock = new SimulatedClock();
    let fired = 0;
    const kept = clock.after(5, () => (fired += 1));
    clock.after(4, () => (fired += 10)).cancel();
    await clock.advance(10);
    kept.cancel();
    expect([fired, clock.pendingTimers]).toEqual([1, 0]);
  });

  test("runs until a condition holds, and no further", async () => {
    const clock = new SimulatedClock({ bootMs: 0 });
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      clock.after(10, tick);
    };
    clock.after(10, tick);
    expect(await clock.runUntil(() => ticks === 3)).toBe(true);
    expect(clock.bootMs()).toBe(30);
    expect(await clock.runUntil(() => false, 100)).toBe(false);
    expect(await clock.runUntilIdle(100)).toBe(false);
  });

  test("notices timers that never let time move on", async () => {
    const clock = new SimulatedClock();
    const again = (): void => {
      clock.after(0, again);
    };
    again();
    await expect(clock.runUntilIdle()).rejects.toThrow("time does not move on");
  });

  test("sleeps: both clocks run on, timers wait", async () => {
    const clock = new SimulatedClock({ bootMs: 0, wallNs: 0n });
    let firedAt = 0;
    clock.after(10, () => (firedAt = clock.bootMs()));
    clock.suspend(1000);
    await clock.advance(9);
    expect(firedAt).toBe(0);
    await clock.advance(1);
    expect([firedAt, clock.wallNs()]).toEqual([1010, 1_010_000_000n]);
  });

  test("has a wall clock that jumps without moving the other", () => {
    const clock = new SimulatedClock({ bootMs: 0, wallNs: 0n });
    clock.jumpWall(-5000);
    expect([clock.bootMs(), clock.wallNs()]).toEqual([0, -5_000_000_000n]);
  });
});
