// The pause of a drive, on a simulated clock: its end, what is left of it by a former process, and reminders.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import type { Pause } from "../../src/agent/mount-status.ts";
import { DrivePause } from "../../src/agent/pauses/drive-pause.ts";
import { REMIND_EVERY_MS } from "../../src/agent/pauses/pause-term.ts";
import { untilWords } from "../../src/agent/pauses/pause-words.ts";

const HOUR_MS = 3_600_000;

let clock: SimulatedClock;
let settings: { mountpoint: string; pause?: Pause };
let calls: string[];
let pause: DrivePause;

function wallMs(): number {
  return Number(clock.wallNs() / 1_000_000n);
}

beforeEach(() => {
  clock = new SimulatedClock();
  settings = { mountpoint: "/drive" };
  calls = [];
  pause = new DrivePause({
    settings,
    clock,
    session: {
      suspend: async (why) => {
        if (calls.at(-1) !== "suspend") calls.push("suspend");
        expect(why).toMatch(/^Paused until .*: nothing is sent or fetched\. Resume it: runnel resume \/drive$/);
      },
      wake: () => void calls.push("wake"),
    },
    happened: (kind, path, detail) => void calls.push(`${kind} ${path}${detail}`),
  });
});

async function paused(untilMs: number | null): Promise<void> {
  settings.pause = { sinceMs: wallMs(), untilMs };
  await pause.changed();
}

test("ends at its time, not before, and says so", async () => {
  await paused(wallMs() + HOUR_MS);
  const until = untilWords({ untilMs: wallMs() + HOUR_MS }, wallMs());
  expect(calls).toEqual([`paused ${until}`, "suspend"]);
  expect(pause.status()).toMatchObject({ until, untilMs: wallMs() + HOUR_MS, reminders: 0 });
  await clock.advance(HOUR_MS - 1_000);
  expect(calls).toHaveLength(2);
  await clock.advance(1_000);
  expect(calls.slice(2)).toEqual(["wake", "resumed Its time was over."]);
  expect([pause.status(), settings.pause]).toEqual([null, undefined]);
  await clock.advance(REMIND_EVERY_MS);
  expect(calls).toHaveLength(4);
});

test("ends when a person resumes it, and another end takes the place of the first", async () => {
  await paused(wallMs() + HOUR_MS);
  await paused(wallMs() + 3 * HOUR_MS);
  await clock.advance(2 * HOUR_MS);
  expect(calls).not.toContain("wake");
  delete settings.pause;
  await pause.changed();
  expect(calls.slice(-2)).toEqual(["wake", "resumed "]);
});

test("without an end reminds a person after a day, and each day", async () => {
  await paused(null);
  await clock.advance(REMIND_EVERY_MS - 60_000);
  expect([pause.status()?.reminders, calls.length]).toEqual([0, 2]);
  await clock.advance(120_000);
  expect(pause.status()?.reminders).toBe(1);
  expect(calls.filter((call) => call.startsWith("paused until you resume it, since "))).toHaveLength(1);
  await clock.advance(2 * REMIND_EVERY_MS);
  expect(pause.status()).toMatchObject({ until: "until you resume it", reminders: 3 });
});

describe("that a former process left", () => {
  test("goes on before anything crosses the line; of the past it reminds nobody again", async () => {
    settings.pause = { sinceMs: wallMs() - 3 * REMIND_EVERY_MS, untilMs: null };
    await pause.begin();
    expect(calls).toEqual(["suspend"]);
    expect(pause.status()?.reminders).toBe(3);
  });

  test("is over when its time is", async () => {
    settings.pause = { sinceMs: wallMs() - HOUR_MS, untilMs: wallMs() - 1 };
    await pause.begin();
    expect(calls).toEqual(["wake", "resumed Its time was over."]);
    expect(pause.status()).toBeNull();
  });
});

test("its end is said in words", () => {
  const noonMs = new Date(2026, 10, 26, 12, 0).getTime();
  const at = (day: number, hour: number, minute: number): number => new Date(2026, 10, day, hour, minute).getTime();
  const words = [null, at(26, 14, 5), at(27, 8, 0), at(29, 8, 0)].map((untilMs) => untilWords({ untilMs }, noonMs));
  expect(words).toEqual(["until you resume it", "until 14:05", "until tomorrow 8:00", "until 29 November 8:00"]);
});
