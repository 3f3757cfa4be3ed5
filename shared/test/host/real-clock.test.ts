import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { sleep } from "../../src/host/clock.ts";
import { RealClock } from "../../src/host/real-clock.ts";

/** A machine: monotonic stands still while it sleeps, uptime runs on in steps of 10 ms. */
class Machine {
  awakeMs = 0;
  sleptMs = 0;
  wallOffsetMs = 1_700_000_000_000;
  measured = 0;
  readonly clock = new RealClock({
    monotonicMs: () => this.awakeMs,
    uptimeMs: () => {
      this.measured += 1;
      return Math.floor((this.awakeMs + this.sleptMs) / 10) * 10;
    },
    wallMs: () => Math.floor(this.awakeMs + this.sleptMs + this.wallOffsetMs),
  });
}

describe("bootMs", () => {
  test("runs through suspend, never falls, and is at most 10 ms behind", () => {
    const machine = new Machine();
    machine.awakeMs = 12_345.678;
    machine.sleptMs = 3_000;
    let last = 0;
    for (let step = 0; step < 2000; step++) {
      const isAsleep = step % 500 === 499;
      machine.awakeMs += 0.37 + (step % 7);
      if (isAsleep) machine.sleptMs += 60_000;
      const now = machine.clock.bootMs();
      expect(now).toBeGreaterThanOrEqual(last);
      const behindMs = machine.awakeMs + machine.sleptMs - now;
      expect(behindMs).toBeGreaterThanOrEqual(-1e-6);
      expect(behindMs).toBeLessThan(10);
      last = now;
    }
  });

  test("notices a suspend between two calls that are close together", () => {
    const machine = new Machine();
    machine.clock.bootMs();
    machine.awakeMs += 0.5;
    machine.sleptMs += 20_000;
    expect(machine.clock.bootMs()).toBeGreaterThan(19_990);
  });

  test("does not move when the wall clock is set", () => {
    const machine = new Machine();
    machine.awakeMs = 1000;
    const before = machine.clock.bootMs();
    machine.wallOffsetMs += 3_600_000;
    expect(machine.clock.bootMs()).toBe(before);
  });

  test("asks the system for its uptime at most every 10 ms", () => {
    const machine = new Machine();
    for (let step = 0; step < 1000; step++) {
      machine.awakeMs += 0.1;
      machine.clock.bootMs();
    }
    expect(machine.measured).toBeLessThanOrEqual(11);
  });

  test("is the system's uptime", () => {
    if (process.platform !== "linux") return;
    const clock = new RealClock();
    const uptimeMs = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000;
    expect(Math.abs(clock.bootMs() - uptimeMs)).toBeLessThan(100);
  });
});

describe("timers", () => {
  test("never fire early, and a cancelled one not at all", async () => {
    const clock = new RealClock();
    let wrong = 0;
    clock.after(5, () => (wrong += 1)).cancel();
    const start = clock.bootMs();
    for (let count = 0; count < 5; count++) await sleep(clock, 3.3);
    expect(clock.bootMs() - start).toBeGreaterThanOrEqual(5 * 3.3 - 1e-3);
    expect(wrong).toBe(0);
  });

  test("wait longer than Node's 24.8 days", async () => {
    const clock = new RealClock();
    let fired = 0;
    const timer = clock.after(2 ** 31 + 5, () => (fired += 1));
    await sleep(clock, 20);
    timer.cancel();
    expect(fired).toBe(0);
  });
});
