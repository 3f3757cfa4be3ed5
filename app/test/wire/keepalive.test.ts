import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Clock, type Connection, SimulatedClock, TIMING } from "@runnel/shared";
import { Keepalive } from "../../src/agent/wire/keepalive.ts";

const NEVER = new Promise<never>(() => undefined);

let clock: SimulatedClock;
let link: { receivedBytes: number };
let isBehind: boolean;
let closings: string[];
let connection: Connection | undefined;
let keepalive: Keepalive;

beforeEach(() => {
  clock = new SimulatedClock();
  link = { receivedBytes: 0 };
  closings = [];
  isBehind = false;
  connection = {
    link,
    close: (error: Error) => closings.push(error.message),
    get isBehind() {
      return isBehind;
    },
  } as unknown as Connection;
  keepalive = new Keepalive(clock, () => connection);
});

/**
 * Resolves to the end of a promise while the clock moves on: after so many milliseconds, with this kind of error or
 * none.
 */
async function outcome(answer: Promise<unknown>, everyMs = 100, hears: () => void = () => undefined): Promise<string> {
  const startMs = clock.bootMs();
  let said = "";
  answer.then(
    () => (said = "answered"),
    (error: { kind?: string }) => (said = String(error.kind)),
  );
  for (let turn = 0; turn < 1000; turn++) {
    await clock.advance(everyMs);
    if (said !== "") break;
    hears();
  }
  return `${said} after ${clock.bootMs() - startMs} ms`;
}

describe("a line that has just broken", () => {
  test("counts as offline once a question has met a whole silence, and a silence later when it was found to be there beside", async () => {
    expect(keepalive.silenceLeftMs).toBe(0);
    const asked = outcome(keepalive.soon(NEVER, "current"));
    expect(await asked).toBe(`Unreachable after ${TIMING.silenceMs} ms`);
    expect(keepalive.silenceLeftMs).toBe(0);
    keepalive.answeredElsewhere();
    expect(keepalive.silenceLeftMs).toBe(TIMING.silenceMs);
    await clock.advance(500);
    expect(keepalive.silenceLeftMs).toBe(TIMING.silenceMs - 500);
    // The connection itself is as silent as before.
    expect(keepalive.isSilent).toBe(true);
  });
});

describe("what only reads", () => {
  test("[limit silenceMs] waits for one silence", async () => {
    expect(await outcome(keepalive.whileAlive(NEVER, "list"))).toBe(`Unreachable after ${TIMING.silenceMs} ms`);
    expect(keepalive.isSilent).toBe(true);
    expect(closings).toEqual([]);
  });

  test("waits on while bytes come, also of a message that is not whole yet", async () => {
    let count = 0;
    const hears = (): void => {
      if (count++ < 50) link.receivedBytes++;
    };
    expect(await outcome(keepalive.whileAlive(NEVER, "list"), 100, hears)).toMatch(/^Unreachable after 7\d00 ms$/);
  });

  test("[limit requestTimeoutMs] waits for the request timeout while the server says that it is there, and for a silence after it last did", async () => {
    let count = 0;
    const isThere = (lasts: number) => (): void => {
      if (count++ < lasts) {
        link.receivedBytes += 20;
        keepalive.answered();
      }
    };
    expect(await outcome(keepalive.whileAlive(NEVER, "list"), 100, isThere(1000))).toBe(
      `Unreachable after ${TIMING.requestTimeoutMs} ms`,
    );
    count = 0;
    expect(await outcome(keepalive.whileAlive(NEVER, "list"), 100, isThere(30))).toBe(
      `Unreachable after ${3_000 + TIMING.silenceMs} ms`,
    );
  });

  test("is silent until something is heard", async () => {
    await outcome(keepalive.soon(NEVER, "current"));
    expect(keepalive.isSilent).toBe(true);
    expect(keepalive.offlineSinceMs).toBe(clock.bootMs() - TIMING.silenceMs);
    link.receivedBytes++;
    expect(keepalive.isSilent).toBe(false);
    expect(keepalive.offlineSinceMs).toBeUndefined();
  });
});

describe("what may have been executed", () => {
  test("[limit requestTimeoutMs] waits for the request timeout, then closes the connection; whoever comes after the first silence knows of it", async () => {
    const waiting = outcome(keepalive.withRequestTimeout(NEVER, "write"));
    expect(keepalive.isSilent).toBe(false);
    expect(await waiting).toBe(`Unreachable after ${TIMING.requestTimeoutMs} ms`);
    expect(closings).toEqual(["The server does not answer."]);
    expect(keepalive.isSilent).toBe(true);
  });

  test("gets its answer when it comes late, and nothing is closed", async () => {
    const late = new Promise((resolve) => {
      clock.after(9000, () => {
        link.receivedBytes++;
        resolve("late");
      });
    });
    expect(await outcome(keepalive.withRequestTimeout(late, "write"))).toBe("answered after 9000 ms");
    expect(closings).toEqual([]);
    expect(keepalive.isSilent).toBe(false);
  });

  test("does not begin to wait anew in every call while the server is gone", async () => {
    connection = undefined;
    keepalive.changed();
    await clock.advance(6000);
    expect(keepalive.offlineSinceMs).toBe(clock.bootMs() - 6000);
    await outcome(keepalive.withRequestTimeout(NEVER, "write")).then((said) =>
      expect(said).toBe("Unreachable after 4000 ms"),
    );
  });
});

test("after a sleep of hours the first question has its whole time, since nothing was asked in vain", async () => {
  link.receivedBytes++;
  void keepalive.lastReceivedMs;
  // Suspended: the clock has moved, and no timer of ours was there to fire.
  await clock.advance(4 * 3_600_000);
  expect(keepalive.isSilent).toBe(false);
  expect(await outcome(keepalive.withRequestTimeout(NEVER, "write"))).toBe("Unreachable after 10000 ms");
});

describe("while this process is late", () => {
  /**
   * A clock whose timers fire in the first `awakeMs` of each `everyMs` only, as one that is stopped for the rest of
   * them.
   */
  function starved(awakeMs: number, everyMs: number): Clock {
    return {
      bootMs: () => clock.bootMs(),
      wallNs: () => clock.wallNs(),
      after: (delayMs, fire) => {
        const dueMs = clock.bootMs() + delayMs;
        const late = dueMs % everyMs;
        return clock.after(late < awakeMs ? delayMs : delayMs + everyMs - late, fire);
      },
    };
  }

  test("[W131] at a fifth of a processor nothing counts as silence but that fifth", async () => {
    keepalive = new Keepalive(starved(50, 250), () => connection);
    const said = await outcome(keepalive.whileAlive(NEVER, "list"), 10);
    const [, ms] = /^Unreachable after (\d+) ms$/.exec(said) ?? [];
    expect(Number(ms)).toBeGreaterThanOrEqual(4.5 * TIMING.silenceMs);
    expect(Number(ms)).toBeLessThanOrEqual(5.5 * TIMING.silenceMs);
  });

  test("[W131] one long turn, or a sleep, takes nothing of the time that a question has", async () => {
    for (const ask of [() => keepalive.soon(NEVER, "current"), () => keepalive.whileAlive(NEVER, "list")]) {
      const asked = ask();
      asked.catch(() => undefined);
      await clock.advance(1_000);
      clock.suspend(60_000);
      expect(await outcome(asked)).toBe(`Unreachable after ${TIMING.silenceMs - 1_000} ms`);
    }
  });

  test("[W131] because messages wait for its threads, the server is not silent", async () => {
    isBehind = true;
    const asked = keepalive.soon(NEVER, "current");
    asked.catch(() => undefined);
    await clock.advance(30_000);
    isBehind = false;
    const [, ms] = /^Unreachable after (\d+) ms$/.exec(await outcome(asked)) ?? [];
    expect(Number(ms)).toBeGreaterThan(TIMING.silenceMs - 300);
    expect(Number(ms)).toBeLessThanOrEqual(TIMING.silenceMs + 300);
  });
});

describe("a line whose round trip is long", () => {
  test("[W131] gets three of them before it is silent, and five before its request timeout", async () => {
    keepalive.line.begin(3_000);
    expect(await outcome(keepalive.whileAlive(NEVER, "list"))).toBe("Unreachable after 9000 ms");
    keepalive.changed();
    expect(await outcome(keepalive.withRequestTimeout(NEVER, "write"))).toBe("Unreachable after 15000 ms");
  });

  test("[W131] [limit roundTripMsMax] is one that two measurements in a row say so of, ten seconds at the most", () => {
    const { line } = keepalive;
    line.begin(100);
    line.measured(60_000);
    expect(line.silenceMs).toBe(TIMING.silenceMs);
    line.measured(60_000);
    expect(line.silenceMs).toBe(3 * TIMING.roundTripMsMax);
    line.measured(100);
    expect(line.requestTimeoutMs).toBe(TIMING.requestTimeoutMs);
  });
});
