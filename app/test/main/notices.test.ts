// Notices: what a person is notified of, and how often.
import { beforeEach, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { NOTICES_MAX, Notices, OFFLINE_MS, WINDOW_MS } from "../../src/main/notices.ts";
import { conflictsOf, driveFacts } from "./facts.ts";

let clock: SimulatedClock;
let notices: Notices;
let told: string[];

beforeEach(() => {
  clock = new SimulatedClock();
  told = [];
  notices = new Notices(clock, ({ title, body, opens }) => told.push(`${title} | ${body} | ${opens}`));
});

test("what was so when the app started is not told of", () => {
  notices.update([driveFacts({ conflicts: conflictsOf("a"), problems: ["Full."], refusal: "No." })]);
  expect(told).toEqual([]);
});

test("a drive that is added later is told of from its first moment", () => {
  notices.update([]);
  notices.update([driveFacts({ refusal: "This device may not come in. Ask for a new invite." })]);
  expect(told).toEqual(["Docs needs you | This device may not come in. Ask for a new invite. | /"]);
});

test("a conflict is told of once, by its path; many at once are one notification", () => {
  notices.update([driveFacts()]);
  const one = driveFacts({ conflicts: conflictsOf("work/a.txt") });
  notices.update([one]);
  notices.update([one]);
  notices.update([driveFacts({ conflicts: conflictsOf("work/a.txt", "b", "c") })]);
  expect(told).toEqual([
    "a.txt was changed twice | work/a.txt in Docs was changed in two places. Both are kept: compare them. | /conflicts",
    "2 files were changed twice | They were changed in two places, in Docs. Both versions of each are kept. | /conflicts",
  ]);
});

test("a drive is lost once it has been offline for a while, and only then is it told to be back", async () => {
  const [online, offline] = [driveFacts(), driveFacts({ state: "offline" })];
  notices.update([online]);
  notices.update([offline]);
  await clock.advance(OFFLINE_MS - 1);
  notices.update([online]);
  await clock.advance(OFFLINE_MS);
  expect(told).toEqual([]);
  notices.update([offline]);
  notices.update([offline]);
  await clock.advance(OFFLINE_MS);
  notices.update([offline]);
  notices.update([driveFacts({ unsentFiles: 2 })]);
  notices.update([online]);
  expect(told.map((line) => line.split(" | ").slice(0, 2))).toEqual([
    [
      "Docs is offline",
      "The server does not answer. Files that are kept here can be read; what you change is sent later.",
    ],
    ["Docs is back", "What waited is being sent."],
  ]);
});

test("a pause is no loss of the line; a person is reminded of one without an end", async () => {
  const paused = (reminders: number): ReturnType<typeof driveFacts> => {
    const pause = { sinceMs: 0, untilMs: null, until: "until you resume it", reminders };
    return driveFacts({ state: "offline", pause, sentence: "Paused until you resume it." });
  };
  notices.update([paused(1)]);
  await clock.advance(2 * OFFLINE_MS);
  expect(told).toEqual([]);
  notices.update([paused(2)]);
  notices.update([paused(2)]);
  notices.update([driveFacts()]);
  expect(told).toEqual(["Docs is still paused | Paused until you resume it. | /"]);
});

test("a person is reminded of a folder's pause without an end, too", () => {
  const paused = (reminders: number): ReturnType<typeof driveFacts> => {
    const pause = { sinceMs: 0, untilMs: null, until: "until you resume it", reminders, path: "Films" };
    return driveFacts({ pausedFolders: [pause], sentence: "Films is paused until you resume it." });
  };
  for (const reminders of [0, 1, 1]) notices.update([paused(reminders)]);
  expect(told).toEqual(["A part of Docs is still paused | Films is paused until you resume it. | /"]);
});

test("a drive that is unmounted while it is offline is not told to be lost", async () => {
  notices.update([driveFacts()]);
  notices.update([driveFacts({ state: "offline" })]);
  notices.update([]);
  await clock.advance(OFFLINE_MS);
  expect(told).toEqual([]);
});

test("a problem is told of once, though its figure changes", () => {
  notices.update([driveFacts()]);
  notices.update([driveFacts({ problems: ["The disk is full: 12 KB are left."] })]);
  notices.update([driveFacts({ problems: ["The disk is full: 11 KB are left."] })]);
  expect(told).toEqual(["Docs has a problem | The disk is full: 12 KB are left. | /"]);
});

test("there is never a flood: a few at a time, then one that counts the rest", async () => {
  notices.update([driveFacts()]);
  for (let n = 1; n <= 50; n++)
    notices.update([driveFacts({ conflicts: conflictsOf(...Array.from({ length: n }, (_, i) => `file ${i}`)) })]);
  expect(told).toHaveLength(NOTICES_MAX);
  await clock.advance(WINDOW_MS);
  expect(told).toHaveLength(NOTICES_MAX + 1);
  expect(told.at(-1)).toBe("47 more things happened | Open Runnel to see them. | /");
  await clock.advance(10 * WINDOW_MS);
  expect(told).toHaveLength(NOTICES_MAX + 1);
});
