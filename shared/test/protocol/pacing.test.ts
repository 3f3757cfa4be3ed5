// Pacing over a simulated line: full use of it, and little in the way of whoever speaks in between.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../src/limits.ts";
import { Pacing } from "../../src/protocol/pacing.ts";

interface Seen {
  /** Share of the line's rate. */
  goodput: number;
  windowBytes: number;
  frameBytes: number;
  roundTripMs: number;
  rate: number;
  /** Worst time that a control frame would have waited behind bulk in the last stretch looked at. */
  queueMsMax: number;
}

/** A line with a queue, and a receiver that acknowledges as a connection does: at 16 KiB, or after 5 ms. */
class SimulatedLine {
  readonly pacing = new Pacing();
  nowMs = 0;
  received = 0;
  rate: number;
  roundTripMs: number;
  private freeMs = 0;
  private acknowledged = 0;
  private isAckDue = false;
  private queueMsMax = 0;
  /** The sender's program is busy until then: what comes is handled afterwards. */
  busyUntilMs = 0;
  private readonly events: { atMs: number; order: number; fire: () => void }[] = [];
  private order = 0;
  /** Bytes that the program still has to send. */
  backlog = Infinity;

  constructor(rate: number, roundTripMs: number) {
    this.rate = rate;
    this.roundTripMs = roundTripMs;
  }

  run(forMs: number): Seen {
    const untilMs = this.nowMs + forMs;
    const before = this.received;
    this.queueMsMax = 0;
    this.pump();
    for (;;) {
      const next = this.events[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.events.shift();
      this.nowMs = next.atMs;
      next.fire();
    }
    this.nowMs = untilMs;
    const { windowBytes, frameBytes, roundTripMs, ratePerSecond } = this.pacing;
    const goodput = ((this.received - before) * 1000) / forMs / this.rate;
    return { goodput, windowBytes, frameBytes, roundTripMs, rate: ratePerSecond, queueMsMax: this.queueMsMax };
  }

  private at(atMs: number, fire: () => void): void {
    const event = { atMs, order: this.order++, fire };
    let index = this.events.length;
    while (index > 0 && (this.events[index - 1]?.atMs ?? 0) > atMs) index--;
    this.events.splice(index, 0, event);
  }

  private pump(): void {
    while (this.backlog > 0 && this.pacing.mayStart) {
      const bytes = Math.min(this.pacing.frameBytes, this.backlog);
      this.backlog -= bytes;
      this.pacing.sent(bytes, this.nowMs);
      this.freeMs = Math.max(this.freeMs, this.nowMs) + (bytes * 1000) / this.rate;
      this.queueMsMax = Math.max(this.queueMsMax, this.freeMs - this.nowMs);
      this.at(this.freeMs + this.roundTripMs / 2, () => this.arrive(bytes));
    }
  }

  private arrive(bytes: number): void {
    this.received += bytes;
    if (this.received - this.acknowledged >= 16 * 1024) this.acknowledge();
    else if (!this.isAckDue) {
      this.isAckDue = true;
      this.at(this.nowMs + 5, () => {
        this.isAckDue = false;
        this.acknowledge();
      });
    }
  }

  private acknowledge(): void {
    const total = this.received;
    if (total === this.acknowledged) return;
    this.acknowledged = total;
    const handle = (): void => {
      if (this.nowMs < this.busyUntilMs) {
        this.at(this.busyUntilMs, handle);
        return;
      }
      expect(this.pacing.acknowledged(total, this.nowMs)).toBe(true);
      this.pump();
    };
    this.at(this.nowMs + this.roundTripMs / 2, handle);
  }

  /** Messages, which nothing holds back. */
  say(bytes: number): void {
    this.freeMs = Math.max(this.freeMs, this.nowMs) + (bytes * 1000) / this.rate;
  }
}

const KBIT = 125;
const LINES = [
  ["LBFS's cable line, 384 kbit/s, 30 ms", 384 * KBIT, 30],
  ["1.5 Mbit/s, 30 ms", 1_500 * KBIT, 30],
  ["20 Mbit/s, 30 ms", 20_000 * KBIT, 30],
  ["10 Mbit/s, 100 ms", 10_000 * KBIT, 100],
  ["100 Mbit/s, 100 ms", 100_000 * KBIT, 100],
  ["100 kbit/s, 300 ms", 100 * KBIT, 300],
  ["1 Gbit/s, 1 ms", 1_000_000 * KBIT, 1],
] as const;

describe("pacing", () => {
  test.each(LINES)(
    "[W52] on %s finds the rate, keeps 1.5 × rate × round trip under way, in frames of 20 ms",
    (_name, rate, roundTripMs) => {
      const line = new SimulatedLine(rate, roundTripMs);
      line.run(5_000);
      const seen = line.run(1_000);
      expect(seen.rate / rate).toBeGreaterThan(0.97);
      expect(seen.rate / rate).toBeLessThan(1.1);
      // A round trip as it is measured has a small frame and the wait for its acknowledgement in it.
      const longestMs = Math.max(roundTripMs + 5 + (1024 * 1000) / rate, 4);
      expect(seen.roundTripMs).toBeGreaterThanOrEqual(roundTripMs);
      expect(seen.roundTripMs).toBeLessThanOrEqual(longestMs + 1);
      const product = (rate * roundTripMs) / 1000;
      expect(seen.windowBytes).toBeGreaterThanOrEqual(1.45 * product);
      expect(seen.windowBytes).toBeLessThanOrEqual(Math.max((1.6 * rate * longestMs) / 1000, 2 * seen.frameBytes));
      expect(seen.frameBytes).toBeLessThanOrEqual(Math.max(1024, 1.1 * rate * 0.02));
      expect(seen.frameBytes).toBeLessThanOrEqual(LIMITS.bulkFrameBytes);
      expect(seen.goodput).toBeGreaterThan(0.97);
    },
  );

  test.each(LINES)(
    "[W52] on %s does not fill the line's queue in the course of ten minutes",
    (_name, rate, roundTripMs) => {
      if (rate > 10_000 * KBIT) return;
      const line = new SimulatedLine(rate, roundTripMs);
      line.run(15_000);
      for (let minute = 0; minute < 10; minute++) {
        const seen = line.run(60_000);
        // After the pause that measures the round trip, a whole window goes at once.
        expect(seen.queueMsMax).toBeLessThan(1.7 * (roundTripMs + 5 + (1024 * 1000) / rate) + 25);
        expect(seen.goodput).toBeGreaterThan(0.93);
      }
    },
  );

  const slow = LINES.filter(([, rate]) => rate <= 1_500 * KBIT);

  test.each(slow)(
    "[W52] on %s takes a burst of late acknowledgements for no faster line: a small save waits for little",
    (_name, rate, roundTripMs) => {
      const line = new SimulatedLine(rate, roundTripMs);
      // Runs until what was sent before anything was known has come.
      line.run(2 * roundTripMs + (40 * 1024 * 1000) / rate);
      for (let second = 0; second < 8; second++) {
        // A client that reads, cuts and compresses what it uploads.
        line.busyUntilMs = line.nowMs + 300;
        expect(line.run(1_000).queueMsMax).toBeLessThan(3 * (roundTripMs + 5 + (1024 * 1000) / rate) + 50);
      }
    },
  );

  test.each(slow)(
    "[W52] on %s knows the round trip from answers when the first bulk waits behind messages, at first and after a pause",
    (_name, rate, roundTripMs) => {
      const line = new SimulatedLine(rate, roundTripMs);
      for (const pauseMs of [0, 60_000]) {
        line.backlog = 0;
        line.run(pauseMs);
        line.pacing.answeredWithin(roundTripMs + 10, line.nowMs);
        // A recipe, say.
        line.say(4 * rate);
        line.backlog = Infinity;
        line.run(5_000 + 2 * roundTripMs + (40 * 1024 * 1000) / rate);
        expect(line.run(4_000).queueMsMax).toBeLessThan(3 * (roundTripMs + 10 + (1024 * 1000) / rate) + 50);
      }
    },
  );

  test("[W52] sends what is small in one go, on an idle line and again after a pause", () => {
    const line = new SimulatedLine(2_500_000, 100);
    for (let save = 0; save < 12; save++) {
      line.backlog = 20_000;
      const before = line.received;
      line.run(120);
      expect(line.received - before).toBe(20_000);
      line.run(3_000);
    }
  });

  test("[W52] follows a line that becomes slower, and one that becomes faster", () => {
    const line = new SimulatedLine(2_500_000, 50);
    line.run(15_000);
    line.rate = 250_000;
    line.run(25_000);
    expect(line.run(5_000).queueMsMax).toBeLessThan(250);
    line.rate = 2_500_000;
    line.run(25_000);
    expect(line.run(5_000).goodput).toBeGreaterThan(0.9);
  });

  test("[W52] measures a longer round trip anew", () => {
    const line = new SimulatedLine(1_250_000, 20);
    line.run(12_000);
    line.roundTripMs = 200;
    line.run(40_000);
    const seen = line.run(5_000);
    expect(seen.roundTripMs).toBeGreaterThan(195);
    expect(seen.goodput).toBeGreaterThan(0.9);
  });

  test("[W52] keeps no more than 8 MiB under way, however long and fast the line is", () => {
    const line = new SimulatedLine(50_000_000, 500);
    line.run(5_000);
    expect(line.run(1_000).windowBytes).toBe(8 * 1024 * 1024);
  });

  test("[W9] takes no count that goes back or that was never sent", () => {
    const pacing = new Pacing();
    pacing.sent(1000, 0);
    expect(pacing.acknowledged(1001, 1)).toBe(false);
    expect(pacing.acknowledged(600, 1)).toBe(true);
    expect(pacing.acknowledged(599, 2)).toBe(false);
    expect(pacing.acknowledged(1000, 3)).toBe(true);
    expect(pacing.unacknowledgedBytes).toBe(0);
  });
});
