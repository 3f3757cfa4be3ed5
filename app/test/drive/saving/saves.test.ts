// Saves in every state with every event, and which of them takes the place of which.
import { describe, expect, test } from "@jest/globals";
import type { Lineage, Save, SaveEvent, SaveState } from "../../../src/agent/drive/saving/saves.ts";
import { NEXT_STATES, Saves } from "../../../src/agent/drive/saving/saves.ts";
import type { JournalCommit } from "../../../src/agent/journal/journal.ts";

const NODE = 5;
const MADE = { mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n };
const EPOCH = "e";
/** The file as the saves of this test were made of it. */
const CURRENT = { node: NODE, version: 7 };
const HERE = "0".repeat(32);
const STATES = Object.keys(NEXT_STATES) as SaveState[];
const EVENTS: SaveEvent[] = ["send", "answer", "fail", "settle", "drop"];

function recordOf(n: number, more: Partial<JournalCommit> = {}): JournalCommit {
  const layers = [{ file: `layer-${n}`, extents: [{ offset: 0, length: 4 }] }];
  const base = { baseVersion: 7, baseOid: new Uint8Array(0), baseBytes: 10, baseContent: 0 };
  const times = { mtimeNs: 1n, ctimeNs: 1n };
  return { n, instance: HERE, epoch: EPOCH, node: NODE, path: "f", sizeBytes: 10, layers, ...base, ...times, ...more };
}

/** A save of an open file in that state. */
function inState(saves: Saves, state: SaveState, n = 1, file = 1): Save {
  const save = saves.add(recordOf(n), file, []);
  const ways: Record<SaveState, SaveEvent[]> = {
    recorded: [],
    sent: ["send"],
    unwanted: ["drop"],
    committed: ["send", "answer"],
    unsent: ["send", "fail"],
  };
  for (const event of ways[state]) saves.step(save, event, { version: { node: NODE, seq: 8 } });
  expect(save.state).toBe(state);
  return save;
}

function unsentOf(saves: Saves, n: number, file: number): Save {
  const save = inState(saves, "unsent", n, file);
  saves.show(save);
  return save;
}

function lineageOf(saves: Saves, file: number, baseVersion: number): Lineage {
  const lineage = saves.lineage(file, NODE, baseVersion);
  if (lineage === undefined) throw new Error("It was given up.");
  return lineage;
}

describe("a save", () => {
  test.each(STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
    "that is %s: %s",
    (state, event) => {
      const saves = new Saves([]);
      const save = inState(saves, state);
      const step = (): string => saves.step(save, event);
      const next = NEXT_STATES[state][event];
      if (next === undefined) {
        expect(step).toThrow(TypeError);
        return;
      }
      expect(step()).toBe(next);
      expect(save.state).toBe(next);
      const isGone = next === "settled";
      expect(saves.of(NODE)).toEqual(isGone ? [] : [save]);
      if (isGone) expect(step).toThrow(TypeError);
    },
  );

  test("is settled only when the server has it, or nobody wants it any more", () => {
    const ends = STATES.flatMap((state) =>
      EVENTS.filter((event) => NEXT_STATES[state][event] === "settled").map((event) => `${state} ${event}`),
    );
    expect(ends).toEqual(["unwanted fail", "committed settle", "unsent drop"]);
  });

  test("once committed, is never unsent again", () => {
    const reached = new Set<SaveState>(["committed"]);
    for (const state of reached)
      for (const next of Object.values(NEXT_STATES[state])) if (next !== "settled") reached.add(next);
    expect([...reached]).toEqual(["committed"]);
  });

  test("[W24] has a number that is not reported as received before it is settled, and so has what makes its copy", () => {
    for (const state of STATES) {
      const saves = new Saves([]);
      inState(saves, state);
      expect([...saves.numbers(HERE)]).toEqual([1]);
      expect([...saves.numbers("1".repeat(32))]).toEqual([]);
    }
    const copy = { of: "f", n: 8, folder: 1, name: "f 2", made: MADE, base: { node: NODE, seq: 7, epoch: EPOCH } };
    expect([...new Saves([recordOf(9, { copy })]).numbers(HERE)]).toEqual([9, 8]);
  });

  test("of a file that was removed here while it was recorded or sent is not kept when it fails", () => {
    for (const state of ["recorded", "sent"] as const) {
      const saves = new Saves([]);
      const save = inState(saves, state);
      expect(saves.removed(NODE)).toEqual([]);
      if (state === "recorded") saves.step(save, "send");
      expect(saves.step(save, "fail")).toBe("settled");
    }
    const saves = new Saves([]);
    saves.removed(NODE);
    expect(saves.add(recordOf(1), 1, []).state).toBe("unwanted");
    const waiting = new Saves([recordOf(1), recordOf(2)]);
    expect(waiting.removed(NODE).map(({ record }) => record.n)).toEqual([1, 2]);
    expect(waiting.unsent()).toEqual([]);
  });
});

describe("an unsent save", () => {
  test("stays when another program saves the file over the server's version", () => {
    const saves = new Saves([]);
    const older = unsentOf(saves, 1, 1);
    const lineage = lineageOf(saves, 2, 7);
    expect(lineage).toEqual({ node: NODE, baseVersion: 7, below: undefined, copy: undefined, replaces: [] });
    saves.add(recordOf(2), 2, lineage.replaces);
    expect(saves.unsent()).toEqual([older]);
  });

  test("gives way to the next save of the same open file, which has its layers", () => {
    const saves = new Saves([]);
    const older = unsentOf(saves, 1, 1);
    const lineage = lineageOf(saves, 1, 7);
    expect(lineage).toMatchObject({ baseVersion: 7, below: undefined, replaces: [older] });
    const newer = saves.add(recordOf(2), 1, lineage.replaces);
    expect(older.state).toBe("settled");
    expect(saves.of(NODE)).toEqual([newer]);
  });

  test("gives way to a save of what was opened over it, which is put over its layers", () => {
    const saves = new Saves([]);
    const older = unsentOf(saves, 1, 1);
    saves.closed(1);
    const lineage = lineageOf(saves, 2, older.shownAs);
    expect(lineage).toEqual({
      node: NODE,
      baseVersion: 7,
      below: older.record,
      copy: undefined,
      replaces: [older],
    });
    const newer = saves.add(recordOf(2), 2, lineage.replaces);
    // It fails as well, and the program saves once more: over the first, in place of the second.
    for (const event of ["send", "fail"] as const) saves.step(newer, event);
    saves.show(newer);
    expect(lineageOf(saves, 2, older.shownAs)).toMatchObject({ below: older.record, replaces: [newer] });
    // Another program that had opened the first has not seen the second.
    expect(lineageOf(saves, 3, older.shownAs)).toMatchObject({ below: older.record, replaces: [] });
    expect(lineageOf(saves, 3, newer.shownAs)).toMatchObject({ below: newer.record, replaces: [newer] });
  });

  test("that has been sent meanwhile is the base of what its program saves next", () => {
    for (const baseVersion of [7, undefined]) {
      const saves = new Saves([]);
      const older = unsentOf(saves, 1, 1);
      saves.step(older, "send");
      saves.step(older, "answer", { version: { node: 6, seq: 9 } });
      saves.step(older, "settle");
      const lineage = lineageOf(saves, baseVersion === undefined ? 2 : 1, baseVersion ?? older.shownAs);
      expect(lineage).toMatchObject({ node: 6, baseVersion: 9, below: undefined, replaces: [] });
    }
  });

  test("that becomes a conflict copy takes what its program saves next along", () => {
    const saves = new Saves([]);
    const older = unsentOf(saves, 1, 1);
    const copy = { of: "f", n: 8, folder: 1, name: "f 2", made: MADE, base: { node: NODE, seq: 7, epoch: EPOCH } };
    saves.rerecord(older, recordOf(9, { node: 6, baseVersion: 0, copy }));
    expect(saves.of(NODE)).toEqual([]);
    expect(lineageOf(saves, 1, 7)).toMatchObject({ node: 6, copy, replaces: [older] });
    expect(lineageOf(saves, 2, older.shownAs)).toMatchObject({ node: 6, copy, replaces: [older] });
    expect(saves.shownOf({ node: 6, version: 0 }, EPOCH, true)).toBe(older);
  });

  test("that was given up is no base of anything", () => {
    const saves = new Saves([]);
    const older = unsentOf(saves, 1, 1);
    saves.step(older, "drop");
    expect(saves.lineage(2, NODE, older.shownAs)).toBeUndefined();
    saves.forget(older.shownAs);
    expect(saves.lineage(2, NODE, older.shownAs)).toBeUndefined();
  });

  test("is not shown over another version than its own while the server can be asked: it may be in that one", () => {
    const saves = new Saves([recordOf(1)]);
    const [left] = saves.unsent() as [Save];
    saves.show(left);
    const later = { node: NODE, version: 9 };
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(left);
    expect(saves.shownOf(later, EPOCH, true)).toBeUndefined();
    expect(saves.shownOf(later, EPOCH, false)).toBe(left);
  });

  test("is shown in its epoch, the last one of a file, until it is committed or cannot be shown", () => {
    const saves = new Saves([]);
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBeUndefined();
    const [first, second] = [unsentOf(saves, 1, 1), unsentOf(saves, 2, 2)];
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(second);
    expect(saves.shownOf(CURRENT, "another", true)).toBeUndefined();
    saves.hide(second);
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(first);
    saves.step(first, "send");
    expect(saves.isShown(first.shownAs)).toBe(true);
    saves.step(first, "answer", { version: { node: NODE, seq: 8 } });
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBeUndefined();
    expect(saves.isShown(first.shownAs)).toBe(false);
  });
});
