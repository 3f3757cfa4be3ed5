// Saves and the changes that they are: what they need of the server, what is shown of them, and which of them takes the
// place of which.
import { describe, expect, test } from "@jest/globals";
import type { Save, TreeChange } from "../../../src/agent/changes/own-change.ts";
import type { ChangeEvent, ChangeState } from "../../../src/agent/changes/change-states.ts";
import { OwnChanges } from "../../../src/agent/changes/own-changes.ts";
import { type Lineage, Saves } from "../../../src/agent/drive/saving/saves.ts";
import type { JournalCommit } from "../../../src/agent/journal/journal.ts";

const NODE = 5;
const MADE = { mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n };
const EPOCH = "e";
/** The file as the saves of this test were made of it. */
const CURRENT = { node: NODE, version: 7 };
const HERE = "0".repeat(32);
/** States of a save that is recorded, and the events by which it comes there. */
const WAYS: Partial<Record<ChangeState, ChangeEvent[]>> = {
  recorded: [],
  sent: ["send"],
  unwanted: ["drop"],
  committed: ["send", "answer"],
  unsent: ["send", "fail"],
};
const STATES = Object.keys(WAYS) as ChangeState[];

/** Saves, and what of them this instance's numbers are asked of. */
class Rig extends Saves {
  readonly changes: OwnChanges;
  /** Files that have a name. */
  readonly names: Set<number>;

  constructor(pending: readonly JournalCommit[] = [], instance = HERE) {
    let next = 100;
    const changes = new OwnChanges({ instance, nextNumber: () => next++, ending: () => [] });
    const names = new Set<number>();
    super(changes, pending, { isQueued: () => false, isNamed: (node) => names.has(node) });
    this.changes = changes;
    this.names = names;
  }

  /** Records a save of an open file. */
  save(n: number, file: number, replaces: readonly Save[] = []): Save {
    const save = this.begin(() => recordOf(n), file);
    this.recorded(save, replaces);
    return save;
  }

  /** Numbers up to 50 that the server must still know. */
  needed(): number[] {
    for (let count = 0; count < 5000; count++) this.changes.step(this.changes.begin(), "settle");
    return [...new Set((this.changes.received.but ?? []).flat())];
  }
}

function recordOf(n: number, more: Partial<JournalCommit> = {}): JournalCommit {
  const layers = [{ file: `layer-${n}`, extents: [{ offset: 0, length: 4 }] }];
  const base = { baseVersion: 7, baseOid: new Uint8Array(0), baseBytes: 10, baseContent: 0 };
  const times = { mtimeNs: 1n, ctimeNs: 1n };
  return { n, instance: HERE, epoch: EPOCH, node: NODE, path: "f", sizeBytes: 10, layers, ...base, ...times, ...more };
}

/** A save of an open file in that state. */
function inState(saves: Rig, state: ChangeState, n = 1, file = 1): Save {
  const save = saves.save(n, file);
  for (const event of WAYS[state] ?? []) {
    if (event === "answer") saves.answered(save, { node: NODE, version: 8 });
    else saves.changes.step(save, event);
  }
  expect(save.state).toBe(state);
  return save;
}

function unsentOf(saves: Rig, n: number, file: number): Save {
  const save = inState(saves, "unsent", n, file);
  saves.show(save);
  return save;
}

/** A file gets a name while it has a content that is not sent yet. */
function named(saves: Rig, n: number, content: Save): TreeChange {
  const operation = { op: "link", node: NODE, folder: 1, name: `name-${n}` } as const;
  const record = { n, instance: HERE, epoch: EPOCH, timeNs: 0n, operation, path: "f" };
  const how = { state: "recorded", isAwaited: false, names: [], nodes: [NODE] } as const;
  return saves.changes.add<TreeChange>({ n, record, content, ...how });
}

function lineageOf(saves: Saves, file: number, baseVersion: number): Lineage {
  const lineage = saves.lineage(file, NODE, baseVersion);
  if (lineage === undefined) throw new Error("It was given up.");
  return lineage;
}

describe("a save", () => {
  test("[W24] has a number that is not reported as received before it is settled, and so has what makes its copy", () => {
    for (const state of STATES) {
      const saves = new Rig();
      inState(saves, state);
      expect(saves.needed()).toEqual([1]);
    }
    expect(new Rig([recordOf(1)]).needed()).toEqual([1]);
    expect(new Rig([recordOf(1)], "1".repeat(32)).needed()).toEqual([]);
    const copy = { of: "f", n: 8, folder: 1, name: "f 2", made: MADE, base: { node: NODE, seq: 7, epoch: EPOCH } };
    expect(new Rig([recordOf(9, { copy })]).needed()).toEqual([8, 9]);
  });

  test("that could not be recorded is gone, and so is its number", () => {
    const saves = new Rig();
    const save = saves.begin(recordOf, 1);
    expect(saves.changes.received).toEqual({ received: save.n - 1 });
    expect(saves.removed(NODE)).toEqual([]);
    saves.changes.step(save, "settle");
    expect(saves.of(NODE)).toEqual([]);
    expect(saves.changes.received).toEqual({ received: save.n });
  });

  test("of a file that was removed here while it was recorded or sent is not kept when it fails", () => {
    for (const state of ["recorded", "sent"] as const) {
      const saves = new Rig();
      const save = inState(saves, state);
      expect(saves.removed(NODE)).toEqual([]);
      if (state === "recorded") saves.changes.step(save, "send");
      expect(saves.failed(save, undefined)).toBe(false);
      expect(save.state).toBe("settled");
    }
    const saves = new Rig();
    const begun = saves.begin(recordOf, 1);
    saves.removed(NODE);
    saves.recorded(begun, []);
    expect(begun.state).toBe("unwanted");
    expect(saves.save(1, 1).state).toBe("unwanted");
    const waiting = new Rig([recordOf(1), recordOf(2)]);
    expect(waiting.removed(NODE).map(({ record }) => record.n)).toEqual([1, 2]);
    expect(waiting.unsent()).toEqual([]);
  });

  test("of a file that was removed here is kept once that has a name again, as when the server refused the removal", () => {
    const saves = new Rig();
    saves.removed(NODE);
    saves.names.add(NODE);
    const save = saves.save(1, 1);
    expect(save.state).toBe("recorded");
    expect(saves.failed(save, undefined)).toBe(true);
    saves.names.delete(NODE);
    expect(saves.save(2, 2).state).toBe("unwanted");
  });
});

describe("an unsent save", () => {
  test("stays when another program saves the file over the server's version", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    const lineage = lineageOf(saves, 2, 7);
    expect(lineage).toEqual({
      node: NODE,
      baseVersion: 7,
      below: undefined,
      copy: undefined,
      follows: undefined,
      replaces: [],
    });
    saves.save(2, 2, lineage.replaces);
    expect(saves.unsent()).toEqual([older]);
  });

  test("gives way to the next save of the same open file, which has its layers", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    const lineage = lineageOf(saves, 1, 7);
    expect(lineage).toMatchObject({ baseVersion: 7, below: undefined, replaces: [older] });
    const newer = saves.save(2, 1, lineage.replaces);
    expect(older.state).toBe("settled");
    expect(saves.of(NODE)).toEqual([newer]);
  });

  test("that is being sent when it gives way is settled by its answer, and is no base of what follows", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    const { replaces } = lineageOf(saves, 1, 7);
    saves.changes.step(older, "send");
    const newer = saves.save(2, 1, replaces);
    expect(older.state).toBe("unwanted");
    expect(saves.unsent()).toEqual([]);
    saves.answered(older, { node: NODE, version: 8 });
    expect(lineageOf(saves, 1, 7)).toMatchObject({ baseVersion: 7, replaces: [newer] });
    saves.changes.step(older, "settle");
    expect(saves.of(NODE)).toEqual([newer]);
  });

  test("gives way to a save of what was opened over it, which is put over its layers", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    saves.closed(1);
    const lineage = lineageOf(saves, 2, older.shownAs);
    expect(lineage).toEqual({
      node: NODE,
      baseVersion: 7,
      below: older.record,
      copy: undefined,
      follows: undefined,
      replaces: [older],
    });
    const newer = saves.save(2, 2, lineage.replaces);
    // It fails as well, and the program saves once more: over the first, in place of the second.
    for (const event of ["send", "fail"] as const) saves.changes.step(newer, event);
    saves.show(newer);
    expect(lineageOf(saves, 2, older.shownAs)).toMatchObject({ below: older.record, replaces: [newer] });
    // Another program that had opened the first has not seen the second.
    expect(lineageOf(saves, 3, older.shownAs)).toMatchObject({ below: older.record, replaces: [] });
    expect(lineageOf(saves, 3, newer.shownAs)).toMatchObject({ below: newer.record, replaces: [newer] });
  });

  test("with which its file got a name is kept: a later save follows it, and so does one after the next name", () => {
    const saves = new Rig();
    const first = unsentOf(saves, 1, 1);
    const naming = named(saves, 2, first);
    const lineage = lineageOf(saves, 1, 7);
    expect(lineage).toMatchObject({ follows: first, replaces: [] });
    const second = saves.begin(() => recordOf(3), 1, first);
    saves.recorded(second, []);
    expect(lineageOf(saves, 1, 7)).toMatchObject({ follows: first, replaces: [second] });
    named(saves, 4, second);
    expect(lineageOf(saves, 1, 7)).toMatchObject({ follows: second, replaces: [] });
    expect(saves.removed(NODE)).toEqual([]);
    expect([first.state, second.state]).toEqual(["unsent", "recorded"]);
    for (const event of ["send", "answer", "settle"] as const) saves.changes.step(naming, event);
    expect(saves.removed(NODE)).toEqual([first]);
  });

  test("that another one has taken the place of while its file got a name leaves that name to it", () => {
    for (const isRemoved of [false, true]) {
      const saves = new Rig();
      const first = unsentOf(saves, 1, 1);
      const second = saves.begin(() => recordOf(2), 1);
      const naming = named(saves, 3, first);
      if (isRemoved) saves.removed(NODE);
      saves.recorded(second, [first]);
      expect([naming.content, first.state, second.state]).toEqual([second, "settled", "recorded"]);
    }
  });

  test("that has been sent meanwhile is the base of what its program saves next", () => {
    for (const baseVersion of [7, undefined]) {
      const saves = new Rig();
      const older = unsentOf(saves, 1, 1);
      saves.changes.step(older, "send");
      saves.answered(older, { node: 6, version: 9 });
      saves.changes.step(older, "settle");
      const lineage = lineageOf(saves, baseVersion === undefined ? 2 : 1, baseVersion ?? older.shownAs);
      expect(lineage).toMatchObject({ node: 6, baseVersion: 9, below: undefined, replaces: [] });
    }
  });

  test("over which its program has saved once more is the base of the next, not the version that an earlier save became", () => {
    const saves = new Rig();
    const first = saves.save(1, 1);
    saves.changes.step(first, "send");
    saves.answered(first, { node: NODE, version: 8 });
    saves.changes.step(first, "settle");
    const second = unsentOf(saves, 2, 1);
    expect(lineageOf(saves, 1, second.shownAs)).toMatchObject({ below: second.record, replaces: [second] });
  });

  test("of another program is not the base of a file whose own save, that failed at first, has become a version since", () => {
    const saves = new Rig();
    const others = unsentOf(saves, 1, 1);
    const own = unsentOf(saves, 2, 2);
    saves.changes.step(own, "send");
    saves.answered(own, { node: NODE, version: 8 });
    expect(lineageOf(saves, 2, others.shownAs)).toMatchObject({ baseVersion: 8, below: undefined });
  });

  test("that becomes a conflict copy takes what its program saves next along", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    const copy = { of: "f", n: 8, folder: 1, name: "f 2", made: MADE, base: { node: NODE, seq: 7, epoch: EPOCH } };
    saves.changes.rerecord(older, recordOf(9, { node: 6, baseVersion: 0, copy }));
    expect(saves.of(NODE)).toEqual([]);
    expect(lineageOf(saves, 1, 7)).toMatchObject({ node: 6, copy, replaces: [older] });
    expect(lineageOf(saves, 2, older.shownAs)).toMatchObject({ node: 6, copy, replaces: [older] });
    expect(saves.shownOf({ node: 6, version: 0 }, EPOCH, true)).toBe(older);
  });

  test("that was given up is no base of anything", () => {
    const saves = new Rig();
    const older = unsentOf(saves, 1, 1);
    saves.changes.step(older, "drop");
    expect(saves.lineage(2, NODE, older.shownAs)).toBeUndefined();
  });

  test("is not shown over another version than its own while the server can be asked: it may be in that one", () => {
    const saves = new Rig([recordOf(1)]);
    const [left] = saves.unsent() as [Save];
    saves.show(left);
    const later = { node: NODE, version: 9 };
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(left);
    expect(saves.shownOf(later, EPOCH, true)).toBeUndefined();
    expect(saves.shownOf(later, EPOCH, false)).toBe(left);
  });

  test("is shown in its epoch, the last one of a file, until it is committed or cannot be shown", () => {
    const saves = new Rig();
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBeUndefined();
    const [first, second] = [unsentOf(saves, 1, 1), unsentOf(saves, 2, 2)];
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(second);
    expect(saves.shownOf(CURRENT, "another", true)).toBeUndefined();
    saves.hide(second);
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBe(first);
    saves.changes.step(first, "send");
    expect(saves.isShown(first.shownAs)).toBe(true);
    saves.answered(first, { node: NODE, version: 8 });
    expect(saves.shownOf(CURRENT, EPOCH, true)).toBeUndefined();
    expect(saves.isShown(first.shownAs)).toBe(false);
  });
});
