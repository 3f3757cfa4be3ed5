// When the drive may answer before the agent hears of it, and what a killed process left.
import { describe, expect, test } from "@jest/globals";
import { ROOT_NODE, SimulatedClock } from "@runnel/shared";
import { EarlyAnswers, type EarlyAnswersDeps } from "../../src/agent/changes/early-answers.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

/** Notes what is said to the drive. */
function rig(changes: object = {}) {
  const said: unknown[] = [];
  const state = {
    session: {
      isResponsive: true,
      mayOnlyRead: false,
      writeLeases: { held: new Set([ROOT_NODE]) },
      nodes: { newNodes: async (most: number) => [7_000, most] },
    },
    isOwnerShown: false,
    epoch: () => "epoch",
    pauses: nothingPaused,
    journal: { numbersLeft: 30_000, problem: () => undefined, operations: () => [] },
    changes: { hasOutstanding: false },
    hasLog: true,
    left: [] as number[],
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
      giveNodes: (first: number, count: number) => {
        if (first !== 0) said.push([first, count]);
      },
    },
    clock: new SimulatedClock({ wallNs: 5_000_000_000n }),
    earlyLog: {
      path: "/nowhere/early",
      boot: "boot",
      left: { requests: state.left.map((earlyNumber) => ({ op: "link", earlyNumber })), last: 0 },
    },
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
  ["the journal cannot be written", { journal: { numbersLeft: 30_000, problem: () => new Error("full") } }],
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

test("what was left is in the journal or is taken in, whatever was recorded before it", () => {
  const journal = {
    operations: () => [{ n: 1, early: 13 }, { n: 2 }],
    pending: () => [{ n: 3, early: 15 }],
    unverified: () => [{ n: 4, early: 11 }],
  };
  const { early } = rig({ journal, left: [11, 12, 13, 14, 15, 16] });
  expect(early.left().map(({ earlyNumber }) => earlyNumber)).toEqual([12, 14, 16]);
});

describe("node ids for what the drive makes", () => {
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test("are given to it before it has used them up", async () => {
    const { early, said } = rig({ isOwnerShown: true });
    early.begin(true);
    early.renew(true);
    await settled();
    for (let made = 0; made < 1_024; made++) early.made();
    early.renew(true);
    await settled();
    expect(said).toEqual([5_000_000, true, [7_000, 2_048]]);
    early.made();
    early.renew(true);
    early.renew(true);
    await settled();
    expect(said.slice(3)).toEqual([[7_000, 2_048]]);
  });

  test("of another epoch take the place of those that it has", async () => {
    let epoch = "one";
    const { early, said } = rig({ isOwnerShown: true, epoch: () => epoch });
    early.begin(true);
    early.renew(true);
    // They come too late.
    epoch = "two";
    await settled();
    expect(said).toEqual([5_000_000, true]);
    early.renew(true);
    await settled();
    expect(said.slice(2)).toEqual([[7_000, 2_048]]);
  });
});
