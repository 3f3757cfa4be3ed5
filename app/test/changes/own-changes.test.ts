// The register of changes: what of them is outstanding, whose names and nodes they are, and whom they wait for.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import type { OwnName, Save } from "../../src/agent/changes/own-change.ts";
import { OwnChanges } from "../../src/agent/changes/own-changes.ts";

/** Changes, more than which are not all looked at for each that is sent. */
const MANY = 64;
const FOLDER = 3;
const NODE = 5;

function changesFrom(first = 1, ending: number[] = []): OwnChanges {
  return new OwnChanges({ instance: "here", nextNumber: () => first++, ending: () => ending });
}

/** A save of that node, which is recorded. */
function addSave(changes: OwnChanges, record: { node: number; instance?: string; copy?: { n: number } }): Save {
  const n = changes.nextNumber();
  const save = {
    n,
    state: "begun",
    isAwaited: true,
    names: [],
    node: record.node,
    record: { n, ...record },
    order: 1,
    follows: undefined,
    recording: undefined,
    shownAs: 0,
  };
  changes.step(changes.add(save as unknown as Save), "record");
  return save as unknown as Save;
}

/** Returns whether `idle` has resolved. */
async function isIdle(idle: Promise<void>): Promise<boolean> {
  let is = false;
  void idle.then(() => (is = true));
  await new Promise((next) => setImmediate(next));
  return is;
}

describe("numbers", () => {
  test("[W24] are received once they are answered, and all before them", () => {
    const changes = changesFrom();
    expect(changes.received).toEqual({ received: 0 });
    const [first, second] = [changes.begin(), changes.begin()];
    expect(changes.received).toEqual({ received: 0 });
    changes.step(second, "settle");
    expect(changes.received).toEqual({ received: 0 });
    changes.step(first, "settle");
    expect(changes.received).toEqual({ received: 2 });
  });

  test("[W24] of contents are received once these are settled and a power cut cannot undo that", () => {
    const ending: number[] = [];
    const changes = changesFrom(1, ending);
    const save = addSave(changes, { node: NODE, instance: "here" });
    for (const event of ["send", "fail", "send", "answer"] as const) {
      changes.step(save, event);
      expect(changes.received).toEqual({ received: 0 });
    }
    changes.step(save, "settle");
    expect(changes.received).toEqual({ received: 1 });
    ending.push(1);
    expect(changes.received).toEqual({ received: 0 });
  });

  test("[W24] of contents of another instance are needed only while a program waits", () => {
    const changes = changesFrom();
    const save = addSave(changes, { node: NODE, instance: "another", copy: { n: 0 } });
    expect(changes.received).toEqual({ received: 0 });
    for (const event of ["send", "fail"] as const) changes.step(save, event);
    expect(changes.received).toEqual({ received: 1 });
  });

  test("[W24] of a content that is recorded anew are those of its record", () => {
    const changes = changesFrom(10);
    const save = addSave(changes, { node: NODE, instance: "here" });
    const record = { ...save.record, n: changes.nextNumber(), node: NODE + 1, copy: { n: 9 } };
    changes.rerecord(save, record as never);
    expect(changes.received).toEqual({ received: 8 });
    expect([changes.of(NODE), changes.of(NODE + 1)]).toEqual([[], [save]]);
  });

  test("[W24] of many changes are said late rather than wrongly, and not too late for the server", () => {
    const changes = changesFrom();
    const saves = Array.from({ length: 6 * MANY }, () => addSave(changes, { node: NODE, instance: "here" }));
    let lateMax = 0;
    for (const [index, save] of saves.entries()) {
      for (const event of ["send", "answer", "settle"] as const) {
        changes.step(save, event);
        const { received, but = [] } = changes.received;
        const settledTo = event === "settle" ? save.n : save.n - 1;
        expect(but.length > 0 || received <= settledTo).toBe(true);
        if (index > 0) lateMax = Math.max(lateMax, settledTo - received);
      }
    }
    expect(lateMax).toBeLessThan(LIMITS.outstandingOperations / 16);
    expect(changes.received).toEqual({ received: saves.length });
  });

  test("are waited for until all that were begun are answered, whatever is begun then", async () => {
    const changes = changesFrom();
    expect(await isIdle(changes.idle())).toBe(true);
    const [name, save] = [changes.begin(), addSave(changes, { node: NODE })];
    const idle = changes.idle();
    changes.begin();
    changes.step(name, "settle");
    changes.step(save, "send");
    expect(await isIdle(idle)).toBe(false);
    changes.step(save, "fail");
    expect(await isIdle(idle)).toBe(true);
  });

  test("of what is committed, or tried again, are waited for by nobody", async () => {
    const changes = changesFrom();
    const [committed, unsent] = [addSave(changes, { node: NODE }), addSave(changes, { node: NODE })];
    for (const event of ["send", "answer"] as const) changes.step(committed, event);
    for (const event of ["send", "fail", "send"] as const) changes.step(unsent, event);
    expect(await isIdle(changes.idle())).toBe(true);
  });
});

describe("a change that is not answered", () => {
  test("is told from another client's by name and node", () => {
    const changes = changesFrom();
    const own: OwnName[] = [
      [FOLDER, "a", NODE],
      [FOLDER + 1, "b", 0],
    ];
    const others: OwnName[] = [
      [FOLDER, "a", NODE + 1],
      [FOLDER, "b", 0],
      [FOLDER + 1, "a", NODE],
    ];
    const [first, second] = [changes.begin(own), changes.begin(own)];
    for (const change of [first, second]) {
      for (const name of own) expect(changes.isOwnName(...name)).toBe(true);
      for (const name of others) expect(changes.isOwnName(...name)).toBe(false);
      changes.step(change, "settle");
    }
    for (const name of own) expect(changes.isOwnName(...name)).toBe(false);
    expect([FOLDER, FOLDER + 1, NODE].flatMap((node) => changes.of(node))).toEqual([]);
  });

  test("of a content is told by the node that its program wrote to, while that waits", () => {
    const changes = changesFrom();
    const save = addSave(changes, { node: NODE });
    expect([changes.isOwnNode(NODE), changes.isOwnNode(FOLDER)]).toEqual([true, false]);
    // Another file was there under its name: programs that have that open have not seen this content.
    changes.rerecord(save, { ...save.record, node: NODE + 1 });
    expect([changes.isOwnNode(NODE), changes.isOwnNode(NODE + 1)]).toEqual([false, false]);
    const other = addSave(changes, { node: NODE });
    for (const event of ["send", "answer"] as const) changes.step(other, event);
    expect(changes.isOwnNode(NODE)).toBe(true);
    const failed = addSave(changes, { node: FOLDER });
    for (const event of ["send", "fail", "send"] as const) changes.step(failed, event);
    expect(changes.isOwnNode(FOLDER)).toBe(false);
  });

  test("says whom it waits for, as the server said last", () => {
    const changes = changesFrom();
    const all = Array.from({ length: LIMITS.channels }, () => changes.begin());
    for (const { n } of all) {
      changes.noteWaiting(n, ["ada"], n);
      changes.noteWaiting(n, ["ada", "bob"], n + 1);
    }
    for (const change of all.slice(2)) changes.step(change, "settle");
    changes.noteWaiting(LIMITS.channels, ["ada"], 0);
    expect(changes.waiting()).toEqual([
      { operation: "change 1", for: ["ada", "bob"], untilMs: 2 },
      { operation: "change 2", for: ["ada", "bob"], untilMs: 3 },
    ]);
  });
});
