// Changes in every state with every event.
import { describe, expect, test } from "@jest/globals";
import { type ChangeEvent, type ChangeState, NEXT_STATES, nextState } from "../../src/agent/changes/change-states.ts";

const STATES = Object.keys(NEXT_STATES) as ChangeState[];
const EVENTS: ChangeEvent[] = ["record", "send", "answer", "fail", "settle", "drop"];

/** States that can follow one, by whatever events. */
function reachedFrom(first: ChangeState): ChangeState[] {
  const reached = new Set([first]);
  for (const state of reached) for (const next of Object.values(NEXT_STATES[state])) reached.add(next);
  return [...reached];
}

describe("a change", () => {
  test.each(STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
    "that is %s: %s",
    (state, event) => {
      const next = NEXT_STATES[state][event];
      if (next === undefined) expect(() => nextState(state, event)).toThrow(TypeError);
      else expect(nextState(state, event)).toBe(next);
    },
  );

  test("comes to every state from its beginning, and from each to its end", () => {
    expect(reachedFrom("begun").toSorted()).toEqual(STATES.toSorted());
    for (const state of STATES) expect(reachedFrom(state)).toContain("settled");
  });

  test("is settled only by its answer, where it is not recorded; else when the server has it, or nobody wants it any more", () => {
    const ends = STATES.flatMap((state) =>
      EVENTS.filter((event) => NEXT_STATES[state][event] === "settled").map((event) => `${state} ${event}`),
    );
    expect(ends).toEqual(["begun settle", "unwanted fail", "committed settle", "unsent drop"]);
  });

  test("once committed, is never unsent again", () => {
    expect(reachedFrom("committed")).toEqual(["committed", "settled"]);
  });

  test("once settled, meets nothing any more", () => {
    expect(NEXT_STATES.settled).toEqual({});
  });
});
