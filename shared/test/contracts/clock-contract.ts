// The contract of every Clock, real or simulated.
import { describe, expect, test } from "@jest/globals";
import type { Clock } from "../../src/host/clock.ts";
import { sleep } from "../../src/host/clock.ts";

/** `pass` lets so much of the clock's time go by, at least. */
export function clockContract(name: string, make: () => { clock: Clock; pass(ms: number): Promise<void> }): void {
  describe(`a clock: ${name}`, () => {
    test("goes forward by what passes, on the boot clock and on the wall", async () => {
      const { clock, pass } = make();
      const boot = clock.bootMs();
      const wall = clock.wallNs();
      await pass(20);
      // The boot clock of a machine may be known to 10 ms only.
      expect(clock.bootMs() - boot).toBeGreaterThanOrEqual(10);
      expect(clock.wallNs() - wall).toBeGreaterThanOrEqual(10_000_000n);
    });

    test("fires timers once each, in order of their time, and of their setting when it is the same", async () => {
      const { clock, pass } = make();
      const fired: string[] = [];
      clock.after(30, () => fired.push("late"));
      clock.after(10, () => fired.push("first"));
      clock.after(10, () => fired.push("second"));
      await pass(60);
      await pass(60);
      expect(fired).toEqual(["first", "second", "late"]);
    });

    test("never fires within the call that sets a timer, and not after cancel, which may come twice or too late", async () => {
      const { clock, pass } = make();
      let count = 0;
      const kept = clock.after(0, () => count++);
      clock.after(5, () => count++).cancel();
      expect(count).toBe(0);
      await pass(20);
      expect(count).toBe(1);
      kept.cancel();
      kept.cancel();
    });

    test("lets sleepers go when their time has come", async () => {
      const { clock, pass } = make();
      const slept = sleep(clock, 10).then(() => "awake");
      await pass(20);
      expect(await slept).toBe("awake");
    });
  });
}
