// When the drive may answer before the agent hears of it, and what a killed process left.
import { expect, test } from "@jest/globals";
import { ROOT_NODE, SimulatedClock } from "@runnel/shared";
import { EarlyAnswers, type EarlyAnswersDeps } from "../../src/agent/changes/early-answers.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

/** Notes what is said to the drive. */
function rig(changes: object = {}) {
  const said: unknown[] = [];
  const state = {
    session: { isResponsive: true, mayOnlyRead: false, writeLeases: { held: new Set([ROOT_NODE]) } },
    pauses: nothingPaused,
    journal: { numbersLeft: 10_000, problem: () => undefined, operations: () => [] },
    changes: { hasOutstanding: false },
    hasLog: true,
    ...changes,
  };
  const early = new EarlyAnswers({
    ...state,
    drive: {
      openEarlyLog: (_path: string, _boot: string, next: number) => {
        said.push(next);
        return state.hasLog;
      },
      allowEarly: (isAllowed: boolean) => said.push(isAllowed),
    },
    clock: new SimulatedClock({ wallNs: 5_000_000_000n }),
    earlyLog: { path: "/nowhere/early", boot: "boot" },
  } as unknown as EarlyAnswersDeps);
  return { early, said };
}

test("it may from the first request on, is told once, and no more when something is in the way", () => {
  const { early, said } = rig();
  early.renew(true);
  expect(said).toEqual([]);
  early.begin(true);
  early.renew(true);
  early.renew(true);
  early.stop();
  early.stop();
  early.renew(true);
  early.renew(false);
  expect(said).toEqual([5_000_000, true, false, true, false]);
});

test.each([
  ["the server does not answer", { session: { isResponsive: false, writeLeases: { held: new Set([ROOT_NODE]) } } }],
  ["no lease is on the whole volume", { session: { isResponsive: true, writeLeases: { held: new Set([7]) } } }],
  [
    "the device may only read",
    { session: { isResponsive: true, mayOnlyRead: true, writeLeases: { held: new Set([ROOT_NODE]) } } },
  ],
  ["something is paused", { pauses: { ...nothingPaused, isEmpty: false } }],
  ["a program waits for the server", { changes: { hasOutstanding: true } }],
  ["the journal lacks numbers", { journal: { numbersLeft: 100, problem: () => undefined } }],
  ["the journal cannot be written", { journal: { numbersLeft: 10_000, problem: () => new Error("full") } }],
  ["there is no log", { hasLog: false }],
])("it may not while %s", (_why, changes) => {
  const { early, said } = rig(changes);
  early.begin(true);
  early.renew(true);
  expect(said).toEqual([5_000_000]);
});

test("in mode sync there is no log, unless one was left", () => {
  const { early, said } = rig();
  early.begin(false);
  expect(said).toEqual([]);
});
