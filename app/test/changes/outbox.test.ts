// Changes on their way to a server that executes what comes after another one only when that succeeded ([W29]).
import { beforeEach, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { type Save, isSave } from "../../src/agent/changes/own-change.ts";
import { OutboxRig, change, save, settle } from "./outbox-rig.ts";

const MiB = 1024 * 1024;

let rig: OutboxRig;

beforeEach(() => {
  rig = new OutboxRig();
});

test("forgets a content whose place another one has taken, also without a line", () => {
  rig.isConnected = false;
  const [first, former, next] = [save(1, 4, 10), save(2, 5, 100), save(3, 5, 200)];
  rig.outbox.add(first);
  rig.outbox.add(former);
  former.state = "settled";
  rig.outbox.add(next);
  rig.outbox.replaced([former, first]);
  expect([rig.outbox.bytes, rig.outbox.size, rig.outbox.has(former)]).toEqual([210, 2, false]);
  rig.isConnected = true;
  rig.outbox.pump();
  expect([...rig.prepared.keys()]).toEqual([1, 3]);
});

test("counts the bytes of contents until they are sent or given up", async () => {
  expect(rig.outbox.bytes).toBe(0);
  const given = save(3, 7, 5);
  rig.outbox.add(save(1, 5, 100), change(2), given);
  expect(rig.outbox.bytes).toBe(105);
  given.state = "settled";
  await settle();
  for (const each of rig.asked) each.answer.resolve();
  await settle();
  rig.outbox.pump();
  expect([rig.outbox.bytes, rig.outbox.size]).toEqual([0, 0]);
});

test("each is asked for without waiting, to be executed after the one before it", async () => {
  rig.outbox.add(change(1), save(2, 5), change(3), save(4, 6), change(5));
  await settle();
  expect(rig.requests()).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
    [4, [3]],
    [5, [4]],
  ]);
  for (const n of [1, 2, 3, 4, 5]) await rig.answer(n);
  expect(rig.outbox.size).toBe(0);
});

test("what a program does next is not asked for before a content that is still being prepared, and contents are prepared together", async () => {
  rig.unprepared.set(1, Promise.withResolvers());
  rig.outbox.add(save(1, 5), save(2, 6), change(3));
  await settle();
  expect([...rig.prepared.keys()]).toEqual([1, 2]);
  expect(rig.requests()).toEqual([]);
  rig.unprepared.get(1)?.resolve();
  await settle();
  expect(rig.requests()).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
  ]);
});

test("a large content holds up what depends on it, and nothing else", async () => {
  rig.outbox.add(save(1, 5, 2 * MiB), change(2, [6]), change(3, [5]), change(4, [6]));
  await settle();
  expect(new Map(rig.requests())).toEqual(
    new Map([
      [1, []],
      [2, []],
      [3, [2, 1]],
      [4, [3]],
    ]),
  );
});

test("a conflict copy, whose number is later than that of a save which follows it, goes before all else, whatever was tried", async () => {
  const copy = save(9, 7);
  copy.record = { ...copy.record, copy: {} as NonNullable<Save["record"]["copy"]> };
  const following = { ...save(3, 5), follows: copy };
  rig.outbox.add(change(2, [5]), following, change(4, [5]), copy);
  await settle();
  expect(rig.requests()).toEqual([
    [2, []],
    [9, []],
  ]);
  await rig.answer(2);
  await rig.answer(9, new RunnelError("Unreachable", "write", "The line broke."));
  rig.outbox.resume();
  await settle();
  expect(rig.requests().slice(2)).toEqual([[9, []]]);
  await rig.answer(9);
  copy.state = "settled";
  rig.outbox.pump();
  await settle();
  expect(rig.requests().slice(3)).toEqual([
    [3, []],
    [4, [3]],
  ]);
});

test("several conflict copies, as a former process left them, go before what follows the first", async () => {
  const copies = [save(8, 7), save(9, 8)];
  for (const copy of copies) copy.record = { ...copy.record, copy: {} as NonNullable<Save["record"]["copy"]> };
  rig.outbox.add({ ...save(3, 5), follows: copies[0] }, change(4, [5]), ...copies);
  await settle();
  expect([...rig.prepared.keys()]).toEqual([8, 9]);
});

test("what becomes a conflict copy behind all that waits leaves the others in their order", async () => {
  const copy = save(2, 7);
  rig.outbox.add(change(1), copy);
  await settle();
  rig.isConnected = false;
  rig.outbox.add(change(3));
  const gone = new RunnelError("Unreachable", "write", "The line broke.");
  // It has a number of its own by the time that it comes back, and is known for a copy a moment later.
  copy.n = 9;
  await rig.answer(9, gone);
  copy.record = { ...copy.record, copy: {} as NonNullable<Save["record"]["copy"]> };
  await rig.answer(1, gone);
  rig.isConnected = true;
  rig.outbox.resume();
  await settle();
  const again = rig.requests().slice(2);
  expect(again.filter(([n]) => n !== 9)).toEqual([
    [1, []],
    [3, [1]],
  ]);
});

test("a refusal is the change's own; what comes after it is sent again, once all of that has failed with it", async () => {
  rig.outbox.add(change(1), change(2), save(3, 5), change(4));
  await settle();
  const taken = new RunnelError("Exists", "make", "The name is taken.");
  await rig.answer(1, taken);
  await rig.answer(2, taken);
  expect(rig.asked).toHaveLength(4);
  await rig.answer(3, taken);
  await rig.answer(4, taken);
  expect(rig.refused).toEqual([1]);
  expect(rig.requests().slice(4)).toEqual([
    [2, []],
    [3, [2]],
    [4, [3]],
  ]);
  for (const n of [2, 3, 4]) await rig.answer(n);
  expect([rig.outbox.size, rig.refused]).toEqual([0, [1]]);
});

test("the removal of a file whose content fails is no refusal of its own", async () => {
  rig.outbox.add(save(1, 5), change(2, [5]));
  await settle();
  rig.isWanted = false;
  const gone = new RunnelError("Gone", "write", "The version is no longer kept.");
  // The content is being sent another way when its first attempt has failed what comes after it.
  await rig.answer(2, gone);
  expect([rig.refused, rig.asked.length]).toEqual([[], 2]);
  await rig.answer(1, gone);
  expect([rig.refused, rig.requests().slice(2)]).toEqual([[], [[2, []]]]);
  await rig.answer(2);
  expect(rig.outbox.size).toBe(0);
});

test("what may pass is tried again in its order after a while, and whoever waits for all is told that the server is full", async () => {
  rig.outbox.add(change(1), change(2));
  await settle();
  const idle = rig.outbox.idle();
  const full = new RunnelError("NoSpace", "make", "The server's disk is full.");
  await Promise.all([
    rig.answer(1, full),
    rig.answer(2, full),
    expect(idle).rejects.toMatchObject({ kind: "NoSpace" }),
  ]);
  expect([rig.asked.length, rig.outbox.size, rig.refused]).toEqual([2, 2, []]);
  await rig.clock.advance(5_000);
  await settle();
  expect(rig.requests().slice(2)).toEqual([
    [1, []],
    [2, [1]],
  ]);
});

test("after a broken line all is sent again in its order, and not before the line is there", async () => {
  rig.outbox.add(save(1, 5), change(2), change(3));
  await settle();
  rig.isConnected = false;
  const gone = new RunnelError("Unreachable", "write", "The line broke.");
  for (const n of [1, 2, 3]) await rig.answer(n, gone);
  await rig.clock.advance(10_000);
  expect(rig.asked).toHaveLength(3);
  rig.isConnected = true;
  rig.outbox.resume();
  await settle();
  expect(rig.requests().slice(3)).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
  ]);
});

test("contents that others may have changed meanwhile are sent side by side; names of such a file wait for it", async () => {
  rig.isCertain = false;
  rig.outbox.add(save(1, 5), save(2, 6), change(3, [6]), change(4, [7]));
  await settle();
  expect(rig.requests()).toEqual([
    [1, []],
    [2, []],
    [3, [2]],
    [4, [3]],
  ]);
  expect(rig.asked.filter(({ queued }) => isSave(queued))).toHaveLength(2);
});

test("what is saved of a file that is open still is not sent for a moment, unless somebody waits", async () => {
  const openFile = (n: number): Save => ({ ...save(n, n), file: 7 });
  const [first, second, third] = [openFile(1), openFile(2), openFile(3)];
  rig.outbox.add(first);
  await settle();
  expect(rig.requests()).toEqual([]);
  first.file = 0;
  rig.outbox.pump();
  await settle();
  expect(rig.requests()).toEqual([[1, []]]);
  rig.outbox.add(second, change(4));
  await settle();
  expect(rig.asked).toHaveLength(1);
  await rig.clock.advance(1_000);
  await settle();
  expect(rig.requests().slice(1)).toEqual([
    [2, [1]],
    [4, [2]],
  ]);
  rig.outbox.add({ ...third, n: 5 });
  rig.outbox.idle().catch(() => undefined);
  await settle();
  expect(rig.requests().slice(3)).toEqual([[5, [4]]]);
});

function numbers(): number[] {
  return rig
    .requests()
    .map(([n]) => n)
    .toSorted((one, other) => one - other);
}

test("what holds a content that is on its way waits for its answer: later changes too, unless that is large", async () => {
  for (const [sizeBytes, meanwhile] of [
    [10, [1]],
    [2 * MiB, [1, 3, 4]],
  ] as const) {
    rig.asked = [];
    const first = save(1, 5, sizeBytes);
    const second: Save = { ...save(2, 5, sizeBytes), follows: first };
    rig.outbox.add(first, second, change(3, [6]), change(4, [7]), change(5, [5]), change(6, [8]));
    await settle();
    // A name of its file is none of those that pass it.
    expect(numbers()).toEqual(meanwhile);
    second.follows = undefined;
    await rig.answer(1);
    for (const n of [3, 4]) await rig.answer(n);
    expect(numbers()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rig.requests().findIndex(([n]) => n === 2)).toBeLessThan(rig.requests().findIndex(([n]) => n === 5));
    for (const n of [2, 3, 4, 5, 6]) await rig.answer(n);
    expect(rig.outbox.size).toBe(0);
  }
});

test.each([
  ["that are small", 10, 256],
  ["that have files open meanwhile", 100_000, 32],
])(
  "of contents %s (%i bytes) %i are on their way at once, and the next goes when one has been answered",
  async (_title, sizeBytes, most) => {
    rig.outbox.add(...Array.from({ length: most + 2 }, (_, at) => save(at + 1, at + 10, sizeBytes)));
    await settle();
    expect(rig.prepared.size).toBe(most);
    await waitForAsked(1);
    rig.asked[0]?.answer.resolve();
    await waitForAsked(most + 1);
    expect(rig.prepared.size).toBe(most + 1);
  },
);

/** Each comes after the one before it. */
async function waitForAsked(count: number): Promise<void> {
  for (let turn = 0; rig.asked.length < count && turn < 1000; turn++) await settle();
  expect(rig.asked.length).toBeGreaterThanOrEqual(count);
}
