// The register of what moves: what an entry says, when it ends, and that none is left behind.
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { makeTransfers } from "./make-transfers.ts";

const MB = 1_000_000;

describe("an upload", () => {
  test("says how far it is, how fast it goes and how long it takes", async () => {
    const clock = new SimulatedClock();
    const transfers = makeTransfers(clock);
    const transfer = transfers.begin({ direction: "up", file: "docs/a", totalBytes: 10 * MB, n: 1, workedBytes: MB });
    for (let sent = 1; sent <= 4; sent++) {
      await clock.advance(1000);
      transfer.moved(MB, MB / 2, false);
      transfer.reached(sent * MB);
      transfers.list();
    }
    const [shown] = transfers.list();
    expect(shown).toMatchObject({ direction: "up", path: "docs/a", doneBytes: 4 * MB, totalBytes: 10 * MB });
    expect(shown?.bytesPerSecond).toBeCloseTo(MB, -4);
    expect(shown?.leftMs).toBeCloseTo(6000, -2);
    expect(shown?.reusedBytes).toBe(0);
    transfer.reached(8 * MB);
    expect(transfers.list()[0]?.reusedBytes).toBe(4 * MB);
    transfer[Symbol.dispose]();
    expect(transfers.list()).toEqual([]);
  });

  test("that begins again counts from the start, and what crossed the wire stays counted", () => {
    const transfers = makeTransfers(new SimulatedClock());
    const transfer = transfers.begin({ direction: "up", file: "a", totalBytes: MB });
    transfer.moved(MB, MB, false);
    transfer.reached(MB);
    transfer.restarted();
    expect(transfers.list()[0]).toMatchObject({ doneBytes: 0, reusedBytes: 0 });
    expect(transfer.crossedBytes).toBe(MB);
  });

  test("names whom it waits for, and the server while that is away", () => {
    let isOnline = true;
    const waitingFor = (): Map<number, string[]> => new Map([[7, ["ada-laptop"]]]);
    const transfers = makeTransfers(new SimulatedClock(), { waitingFor, isOnline: () => isOnline });
    transfers.begin({ direction: "up", file: "a", totalBytes: MB, n: 7 });
    expect(transfers.list()[0]?.waitsFor).toEqual(["ada-laptop"]);
    isOnline = false;
    expect(transfers.list()[0]?.waitsFor).toEqual(["the server"]);
  });

  test("whose rate is not known has no time left", () => {
    const transfers = makeTransfers(new SimulatedClock());
    transfers.begin({ direction: "up", file: "a", totalBytes: MB });
    expect(transfers.list()[0]).toMatchObject({ bytesPerSecond: 0, leftMs: null });
  });
});

describe("a download", () => {
  const subject = { direction: "down" as const, file: 5, totalBytes: 100, isRead: true };

  test("is one transfer while a program reads on, and ends once it does so no more", async () => {
    const clock = new SimulatedClock();
    const transfers = makeTransfers(clock);
    for (let count = 0; count < 3; count++) {
      using fetch = transfers.fetch(9, subject, () => 80);
      fetch.transfer.arrived(10);
      await clock.advance(1000);
    }
    expect(transfers.list()).toMatchObject([{ path: "node 5", doneBytes: 50 }]);
    expect(transfers.ended).toEqual([]);
    await clock.advance(5000);
    expect(transfers.list()).toEqual([]);
    expect(transfers.ended.map(({ doneBytes }) => doneBytes)).toEqual([50]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("that fails ends too, and of many small ones few are kept", async () => {
    const clock = new SimulatedClock();
    const transfers = makeTransfers(clock);
    for (let content = 0; content < 10_000; content++) {
      const fetch = transfers.fetch(content, subject, () => 100);
      fetch[Symbol.dispose]();
    }
    expect(transfers.size).toBeLessThan(300);
    expect(transfers.ended.length + transfers.size).toBe(10_000);
    await clock.advance(5000);
    expect(transfers.size).toBe(0);
  });

  test("ends with its drive in the middle, once", () => {
    const clock = new SimulatedClock();
    const transfers = makeTransfers(clock);
    const fetch = transfers.fetch(1, subject, () => 100);
    const upload = transfers.begin({ direction: "up", file: "a", totalBytes: 5 });
    fetch.transfer.moved(10, 10, false);
    transfers.close();
    expect(transfers.size).toBe(0);
    expect(transfers.ended).toHaveLength(2);
    fetch[Symbol.dispose]();
    upload[Symbol.dispose]();
    transfers.fetch(2, subject, () => 100)[Symbol.dispose]();
    transfers.begin({ direction: "up", file: "b", totalBytes: 5 })[Symbol.dispose]();
    expect(transfers.ended).toHaveLength(2);
    expect(transfers.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});

test("what crossed the wire is handed over once, also for what is under way", () => {
  const crossed: number[] = [];
  const rest: number[] = [];
  const transfers = makeTransfers(new SimulatedClock(), { ended: (_transfer, { sent }) => void rest.push(sent) });
  const transfer = transfers.begin({ direction: "up", file: "a", totalBytes: 5 });
  transfer.moved(4, 3, false);
  transfers.takeCounts((_transfer, { sent }) => void crossed.push(sent));
  transfers.takeCounts((_transfer, { sent }) => void crossed.push(sent));
  transfer.crossed(2);
  transfer[Symbol.dispose]();
  expect([crossed, rest]).toEqual([[3], [2]]);
});

test("100,000 files that came and went leave neither entries nor timers", () => {
  const clock = new SimulatedClock();
  const transfers = makeTransfers(clock);
  for (let index = 0; index < 100_000; index++) {
    using transfer = transfers.begin({ direction: "up", file: "a", totalBytes: 5 });
    transfer.moved(5, 5, false);
    transfer.reached(5);
    transfer.succeeded();
  }
  expect([transfers.size, clock.pendingTimers]).toEqual([0, 0]);
});
