import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { TreeOperation } from "@runnel/shared/tree";
import type { Journal, JournalCommit } from "../../src/agent/journal/journal.ts";
import { decodeJournalRecord, encodeJournalRecord } from "../../src/agent/journal/records.ts";
import { EPOCH, JournalMachine, dataOf, makeCommit } from "./journal-machine.ts";

async function putOne(machine: JournalMachine, journal: Journal, isDurable: boolean): Promise<number> {
  const n = journal.nextNumber();
  await machine.writeData(`overlay-${n}`, dataOf(n));
  await journal.put(makeCommit(journal.instance, n), isDurable);
  return n;
}

const OPERATIONS: readonly TreeOperation[] = [
  {
    op: "make",
    folder: 1,
    name: "a",
    node: 5,
    attributes: { type: "symlink", mode: 0o777, uid: 1, gid: 2, mtimeNs: -3n, rdev: 0, target: "b" },
  },
  { op: "link", node: 5, folder: 2 ** 35, name: "ä" },
  { op: "rename", folder: 1, name: "a", node: 5, toFolder: 2, toName: "b", how: "exchange" },
  { op: "remove", folder: 2, name: "b", node: 5, isFolder: false },
  { op: "setAttr", node: 5, change: { mode: 0o600, mtimeNs: 4n } },
];

test("[F40] every record comes back as it was written", () => {
  const instance = "0123456789abcdef".repeat(2);
  const commit = makeCommit(instance, 2 ** 34);
  commit.layers.push({
    file: "overlay-x.2",
    extents: Array.from({ length: 100_000 }, (_, at) => ({ offset: at * 9, length: 4 })),
  });
  const base = { node: 5, seq: 2 ** 35, epoch: "e".repeat(32) };
  const copied = {
    attributes: { mode: 0o640, uid: 1000, gid: 100 },
    follows: 2 ** 33,
    copy: { of: "a/b", n: 8, folder: 1, name: "b (unsent)", made: { mode: 0o600, uid: 1, gid: 2, mtimeNs: 3n }, base },
  };
  for (const record of [
    { kind: "numbers" as const, instance, below: 2 ** 40 },
    { kind: "nodes" as const, epoch: EPOCH, from: 2 ** 33, end: 2 ** 34 },
    { kind: "commit" as const, unsyncedIn: "a boot", commit },
    { kind: "commit" as const, unsyncedIn: "", digest: new Uint8Array(32).fill(3), commit },
    { kind: "commit" as const, unsyncedIn: "", replaces: [{ instance, n: 7 }], commit: { ...commit, ...copied } },
    { kind: "onDisk" as const, ids: [{ instance, n: 2 ** 34, digest: new Uint8Array(32).fill(9) }] },
    { kind: "done" as const, instance, n: 0 },
    ...OPERATIONS.map((operation, n) => ({
      kind: "operation" as const,
      operation: { n, instance, epoch: EPOCH, timeNs: 2n ** 60n, operation, path: "a/b" },
    })),
  ]) {
    expect(decodeJournalRecord(encodeJournalRecord(record))).toEqual(record);
  }
});

test("changes of names and attributes come back in their order, until they are done", async () => {
  const machine = new JournalMachine();
  let journal = await machine.open();
  const { instance } = journal;
  const put = OPERATIONS.map((operation) => ({
    n: journal.nextNumber(),
    instance,
    epoch: EPOCH,
    timeNs: 5n,
    operation,
    path: "a",
  }));
  for (const record of put) await journal.putOperation(record);
  await journal.sync();
  await machine.cutPower();
  journal = await machine.open();
  expect(journal.operations()).toEqual(put);
  for (const { n } of put.slice(1)) await journal.done(instance, n);
  expect(journal.operations()).toEqual(put.slice(0, 1));
  await journal.close();
  journal = await machine.open();
  expect(journal.operations()).toEqual(put.slice(0, 1));
  await journal.close();
});

test("[F40] a record of another form is damage", () => {
  const whole = encodeJournalRecord({ kind: "commit", unsyncedIn: "", commit: makeCommit("0".repeat(32), 1) });
  for (const bytes of [
    whole.subarray(0, 3),
    whole.subarray(0, whole.length - 1),
    whole.subarray(0, whole.length - 16),
    encodeJournalRecord({ kind: "done", instance: "no instance", n: 1 }),
    encodeJournalRecord({ kind: "commit", unsyncedIn: "", commit: makeCommit("0".repeat(32), 1, "../passwd") }),
  ]) {
    expect(() => decodeJournalRecord(bytes)).toThrow(expect.objectContaining({ kind: "Corrupt" }));
  }
});

test("[F41] numbers go on over lives and instances, and none is given twice", async () => {
  const machine = new JournalMachine();
  const given = new Set<string>();
  let journal = await machine.open();
  const born = journal.instance;
  for (let life = 0; life < 4; life++) {
    for (let count = 0; count < 9000; count++) given.add(`${journal.instance}/${journal.nextNumber()}`);
    if (life === 2) await journal.renew();
    if (life % 2 === 0) await machine.cutPower();
    else await journal.close();
    journal = await machine.open();
    if (life < 2) expect(journal.instance).toBe(born);
  }
  expect(journal.instance).not.toBe(born);
  expect(given.size).toBe(4 * 9000);
});

test("[W24] the first number of an instance is 1", async () => {
  const journal = await new JournalMachine().open();
  expect(journal.nextNumber()).toBe(1);
  await journal.close();
});

test("[F41] more numbers at once than are reserved are refused as busy, and come later", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  for (let count = 0; count < 65_536; count++) journal.nextNumber();
  expect(() => journal.nextNumber()).toThrow(expect.objectContaining({ kind: "Busy" }));
  await machine.clock.advance(100);
  expect(journal.nextNumber()).toBe(65_537);
  await journal.close();
});

describe("[F100] a commit that replaces another one", () => {
  /** Over the file of the first, and a file of its own. */
  async function replaced(machine: JournalMachine, journal: Journal): Promise<JournalCommit> {
    const first = makeCommit(journal.instance, journal.nextNumber());
    await machine.writeData("overlay-1", dataOf(1));
    await machine.writeData("overlay-x", dataOf(2));
    await journal.put({ ...first, layers: [...first.layers, { file: "overlay-x", extents: [] }] }, true);
    const second = makeCommit(journal.instance, journal.nextNumber());
    await machine.writeData("overlay-2", dataOf(2));
    second.layers.unshift({ file: "overlay-1", extents: [{ offset: 0, length: 100 }] });
    await journal.put(second, false, [first]);
    return second;
  }

  test("is pending in its place; what only the first named goes when the second is on stable storage, the rest when that is done", async () => {
    const machine = new JournalMachine();
    let journal = await machine.open();
    const second = await replaced(machine, journal);
    expect(journal.pending()).toEqual([second]);
    expect(await machine.dataFiles()).toEqual(["overlay-1", "overlay-2", "overlay-x"]);
    await journal.close();
    journal = await machine.open();
    expect(journal.pending()).toEqual([second]);
    await journal.sweep();
    expect(await machine.dataFiles()).toEqual(["overlay-1", "overlay-2"]);
    await journal.done(second.instance, second.n);
    await machine.clock.advance(2000);
    expect(journal.pending()).toEqual([]);
    expect(await machine.dataFiles()).toEqual([]);
    await journal.close();
  });

  test("does so once its own bytes are there: until then a power cut brings the first one back", async () => {
    const machine = new JournalMachine();
    let journal = await machine.open();
    const second = await replaced(machine, journal);
    // The record is on stable storage, the bytes are not.
    machine.disk.fault = (operation, path) => (operation === "sync" && path.includes("overlay-2") ? "Io" : undefined);
    await machine.clock.advance(2000);
    machine.disk.fault = undefined;
    await machine.cutPower();
    journal = await machine.open();
    const [left, ...others] = journal.pending();
    expect(others).toEqual([]);
    expect(left?.n).toBe(second.n - 1);
    await journal.sweep();
    for (const { file } of left?.layers ?? []) expect(await machine.dataFiles()).toContain(file);
    for (const { instance, n } of journal.unverified()) await journal.done(instance, n);
    expect(journal.pending()).toEqual([left]);
    await journal.close();
  });
});

test("[F42] what a killed process put is pending, with its data", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, false);
  const next = await machine.open();
  expect(next.pending()).toEqual([makeCommit(journal.instance, n)]);
  expect(next.unverified()).toEqual([]);
  expect(await machine.readData(`overlay-${n}`)).toEqual(dataOf(n));
});

test("[F43] what several commits hold is synced and digested once, and compared anew before it is sent", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  for (const [at, file] of ["a", "b"].entries()) await machine.writeData(file, dataOf(at));
  const opened: string[] = [];
  machine.disk.fault = (operation, path) => {
    if (operation === "open" && path.startsWith("journal/data/")) opened.push(path.slice(-1));
    return undefined;
  };
  const whole = { offset: 0, length: 100 };
  const layers = [{ file: "a", extents: [whole] }];
  const first = { ...makeCommit(journal.instance, journal.nextNumber()), layers };
  await journal.put(first, true);
  expect(opened.splice(0)).toEqual(["a"]);
  const second = { ...first, n: journal.nextNumber(), layers: [...first.layers, { file: "b", extents: [whole] }] };
  await journal.put(second, true, [first]);
  expect(opened.splice(0)).toEqual(["b"]);
  // Less of it shows.
  const third = { ...second, n: journal.nextNumber(), layers: [{ file: "a", extents: [{ offset: 0, length: 50 }] }] };
  await journal.put(third, true, [second]);
  expect(opened.splice(0)).toEqual(["a"]);
  expect(await journal.verify(third)).toBe(true);
  expect(opened).toEqual(["a"]);
  await machine.writeData("a", dataOf(7));
  expect(await journal.verify(third)).toBe(false);
});

test("[F43] a durable put and all puts before it survive a power cut", async () => {
  const machine = new JournalMachine(3);
  const journal = await machine.open();
  const numbers = [await putOne(machine, journal, false), await putOne(machine, journal, true)];
  await machine.cutPower();
  const next = await machine.open();
  expect(next.pending().map(({ n }) => n)).toEqual(numbers);
  for (const n of numbers) expect(await machine.readData(`overlay-${n}`)).toEqual(dataOf(n));
});

test("[F43] a put is on stable storage within a second", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, false);
  await machine.clock.advance(1000);
  await machine.cutPower();
  expect((await machine.open()).pending().map((commit) => commit.n)).toEqual([n]);
});

test("[F43] what a power cut may have taken is unproven until it is done, also lives later", async () => {
  for (let seed = 0, seen = 0; seen < 3; seed++) {
    const machine = new JournalMachine(seed);
    const journal = await machine.open();
    const n = await putOne(machine, journal, false);
    await machine.cutPower();
    let next = await machine.open();
    expect(next.pending()).toEqual([]);
    if (next.unverified().length === 0) continue;
    seen++;
    await next.close();
    next = await machine.open();
    expect(next.unverified().map((commit) => commit.n)).toEqual([n]);
    await next.done(journal.instance, n);
    expect(next.unverified()).toEqual([]);
    await next.close();
  }
});

test("[F43] a commit whose data file is gone is unproven", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, true);
  await journal.close();
  await machine.root.removeFile(`journal/data/overlay-${n}`);
  expect((await machine.open()).unverified().map((commit) => commit.n)).toEqual([n]);
});

test("[F43] a durable put without its data file fails and is not recorded", async () => {
  const journal = await new JournalMachine().open();
  await expect(journal.put(makeCommit(journal.instance, 1), true)).rejects.toMatchObject({ kind: "NotFound" });
  expect(journal.pending()).toEqual([]);
});

for (const isDurable of [true, false]) {
  test(`[F43] what is on stable storage is proved before it is sent: any changed byte of a ${isDurable ? "durable" : "later synced"} put makes it unproven`, async () => {
    const machine = new JournalMachine();
    let journal = await machine.open();
    const [n, other] = [await putOne(machine, journal, isDurable), await putOne(machine, journal, isDurable)];
    await machine.clock.advance(1000);
    for (const life of ["the same life", "another life", "another boot"]) {
      if (life !== "the same life") await journal.close();
      if (life === "another boot") machine.boot++;
      if (life !== "the same life") journal = await machine.open();
      for (let at = 0; at < 100; at += 9) {
        const bytes = dataOf(n);
        bytes[at] = (bytes[at] ?? 0) ^ 0x40;
        await machine.writeData(`overlay-${n}`, bytes);
        expect({ life, at, is: await journal.verify(makeCommit(journal.instance, n)) }).toEqual({
          life,
          at,
          is: false,
        });
      }
      expect(journal.unverified().map((commit) => commit.n)).toEqual([n]);
      expect(journal.pending().map((commit) => commit.n)).toEqual([other]);
      expect(await journal.verify(makeCommit(journal.instance, other))).toBe(true);
      await machine.writeData(`overlay-${n}`, dataOf(n));
      expect(await journal.verify(makeCommit(journal.instance, n))).toBe(true);
    }
    await journal.close();
  });
}

test("[F44] done removes data files once its record is on stable storage, and not those that another commit names", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, true);
  const again = journal.nextNumber();
  const merged = makeCommit(journal.instance, again, `overlay-${n}`);
  await machine.writeData("overlay-x", dataOf(1));
  await journal.put({ ...merged, layers: [...merged.layers, { file: "overlay-x", extents: [] }] }, false);
  await journal.done(journal.instance, n);
  await machine.clock.advance(1000);
  expect(await machine.dataFiles()).toEqual([`overlay-${n}`, "overlay-x"]);
  await journal.done(journal.instance, again);
  await journal.done(journal.instance, again);
  expect(await machine.dataFiles()).toEqual([`overlay-${n}`, "overlay-x"]);
  await machine.clock.advance(1000);
  expect(await machine.dataFiles()).toEqual([]);
  expect(journal.pending()).toEqual([]);
});

test("[W24] what is done is told of until a power cut cannot undo it, and of the last thousand only", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const kept = await putOne(machine, journal, true);
  const [former, next] = [journal.nextNumber(), journal.nextNumber()];
  await journal.put(makeCommit(journal.instance, former), false);
  expect([...journal.ending()]).toEqual([]);
  await journal.done(journal.instance, kept);
  await journal.put(makeCommit(journal.instance, next), false, [makeCommit(journal.instance, former)]);
  expect([...journal.ending()]).toEqual([kept, former]);
  await machine.clock.advance(1000);
  expect([...journal.ending()]).toEqual([]);

  machine.disk.fault = (operation) => (operation === "sync" ? "NoSpace" : undefined);
  const numbers = Array.from({ length: 1100 }, () => journal.nextNumber());
  for (const n of numbers) await journal.put(makeCommit(journal.instance, n), false);
  for (const n of numbers) await journal.done(journal.instance, n);
  expect([...journal.ending()]).toEqual(numbers.slice(-1024));
  await journal.close().catch(() => undefined);
});

test("[F44] sweep removes files that no commit names, but for those that one is to name", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, true);
  for (const name of ["overlay-lost", "overlay-left"]) await machine.writeData(name, dataOf(1));
  await journal.sweep(new Set(["overlay-left"]));
  expect(await machine.dataFiles()).toEqual([`overlay-${n}`, "overlay-left"].toSorted());
});

describe("a put that is on its way", () => {
  test("ends when it is there, where it is done before", async () => {
    const machine = new JournalMachine();
    const journal = await machine.open();
    const n = journal.nextNumber();
    await machine.writeData(`overlay-${n}`, dataOf(n));
    const putting = journal.put(makeCommit(journal.instance, n), false);
    await Promise.all([putting, journal.done(journal.instance, n)]);
    expect(journal.pending()).toEqual([]);
    await journal.close();
    expect((await machine.open()).pending()).toEqual([]);
  });

  test("[F43] is on stable storage after a sync that was asked for behind it", async () => {
    const machine = new JournalMachine();
    const journal = await machine.open();
    const n = journal.nextNumber();
    await machine.writeData(`overlay-${n}`, dataOf(n));
    const commit = makeCommit(journal.instance, n);
    await Promise.all([journal.put(commit, false), journal.sync()]);
    await machine.cutPower();
    const next = await machine.open();
    expect([next.pending(), next.unverified()]).toEqual([[commit], []]);
  });
});

test("[F45] segments are dropped when all their commits are done, and numbers outlive them", async () => {
  const machine = new JournalMachine();
  let journal = await machine.open();
  const first = await putOne(machine, journal, true);
  const path = "p".repeat(500_000);
  let last = first;
  for (let count = 0; count < 20; count++) {
    last = journal.nextNumber();
    await journal.put({ ...makeCommit(journal.instance, last), layers: [], path }, true);
    await journal.done(journal.instance, last);
  }
  expect((await machine.segments()).length).toBe(3);
  await journal.done(journal.instance, first);
  await machine.clock.advance(1000);
  expect((await machine.segments()).length).toBe(1);
  const { instance } = journal;
  await machine.cutPower();
  journal = await machine.open();
  expect(journal.instance).toBe(instance);
  expect(journal.nextNumber()).toBeGreaterThan(last);
  expect(journal.pending()).toEqual([]);
});

test("[F196] what an id stands for is known over segments and lives while something waits that names it, in its epoch", async () => {
  const machine = new JournalMachine();
  let journal = await machine.open();
  const n = journal.nextNumber();
  const operation = { op: "setAttr", node: 2 ** 40, change: { mode: 0o600 } } as const;
  await journal.putOperation({ n, instance: journal.instance, epoch: EPOCH, timeNs: 1n, operation, path: "folder" });
  for (const node of [2 ** 40, 2 ** 40 + 1]) await journal.bind(EPOCH, node, 5);
  const path = "p".repeat(500_000);
  for (let count = 0; count < 20; count++) {
    const last = journal.nextNumber();
    await journal.put({ ...makeCommit(journal.instance, last), layers: [], path }, true);
    await journal.done(journal.instance, last);
  }
  expect(Object.fromEntries(journal.bound(EPOCH))).toEqual({ [2 ** 40]: 5, [2 ** 40 + 1]: 5 });
  await machine.cutPower();
  journal = await machine.open();
  expect(Object.fromEntries(journal.bound(EPOCH))).toEqual({ [2 ** 40]: 5 });
  await journal.done(journal.instance, n);
  // Only the newest segment is left.
  await machine.clock.advance(1000);
  await machine.cutPower();
  journal = await machine.open();
  expect(journal.bound(EPOCH).size).toBe(0);
  await journal.bind(EPOCH, 8, 9);
  expect(journal.bound("f".repeat(32)).size).toBe(0);
  await journal.bind("f".repeat(32), 8, 10);
  expect([...journal.bound("f".repeat(32))]).toEqual([[8, 10]]);
});

test("[F46] damage before the tail is reported and nothing is skipped", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  for (let count = 0; count < 5; count++) await putOne(machine, journal, true);
  await journal.close();
  const [segment] = await machine.segments();
  const file = await machine.root.open(`journal/log/${segment}`, "write");
  await file.write(100, Uint8Array.of(0xff, 0xfe, 0xfd));
  await file.close();
  await expect(machine.open()).rejects.toMatchObject({ kind: "Corrupt" });
  expect((await machine.dataFiles()).length).toBe(5);
});

test("[F6] a torn tail is cut, and its length told", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  expect(journal.tornBytes).toBe(0);
  await putOne(machine, journal, true);
  await machine.cutPower();
  const [segment] = await machine.segments();
  const file = await machine.root.open(`journal/log/${segment}`, "write");
  await file.write((await file.stat()).sizeBytes, new Uint8Array(7).fill(9));
  await file.close();
  const next = await machine.open();
  expect(next.tornBytes).toBe(7);
  expect(next.pending().length).toBe(1);
});

test("a failed background round is shown, and the next put tries again", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const n = await putOne(machine, journal, false);
  machine.disk.fault = (operation, path) => (operation === "sync" && path.includes("data/") ? "NoSpace" : undefined);
  await machine.clock.advance(1000);
  expect(journal.problem()).toMatchObject({ kind: "NoSpace" });
  machine.disk.fault = undefined;
  await putOne(machine, journal, true);
  expect(journal.problem()).toBeUndefined();
  await machine.cutPower();
  expect((await machine.open()).pending()[0]?.n).toBe(n);
});

test("a failed put is not recorded", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  machine.disk.fault = (operation, path) => (operation === "write" && path.includes("log/") ? "NoSpace" : undefined);
  const n = journal.nextNumber();
  machine.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
  await expect(journal.put({ ...makeCommit(journal.instance, n), layers: [] }, false)).rejects.toMatchObject({
    kind: "NoSpace",
  });
  await expect(journal.put({ ...makeCommit(journal.instance, n), layers: [] }, true)).rejects.toMatchObject({
    kind: "NoSpace",
  });
  machine.disk.fault = undefined;
  expect(journal.pending()).toEqual([]);
  await journal.close();
});

test("after close every operation is interrupted, and closing again is harmless", async () => {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const putting = journal.put({ ...makeCommit(journal.instance, 1), layers: [] }, true);
  const closing = journal.close();
  await putting;
  const interrupted = expect.objectContaining({ kind: "Interrupted" });
  expect(() => journal.nextNumber()).toThrow(interrupted);
  expect(() => journal.pending()).toThrow(interrupted);
  for (const operation of [() => journal.renew(), () => journal.done("", 0), () => journal.sweep()]) {
    await expect(operation()).rejects.toMatchObject({ kind: "Interrupted" });
  }
  await expect(journal.put(makeCommit("", 1), false)).rejects.toMatchObject({ kind: "Interrupted" });
  await closing;
  await journal.close();
  expect((await machine.open()).pending().length).toBe(1);
});

test("[F40] the sample of format 1 is read", async () => {
  const machine = new JournalMachine();
  const empty = await machine.open();
  await empty.close();
  const file = await machine.root.open("journal/log/0000000001.log", "create");
  const bytes = readFileSync(join(import.meta.dirname, "samples/format-1/journal.segment"));
  await file.truncate(0);
  await file.write(0, bytes);
  await file.close();
  for (const n of [0, 1, 2]) await machine.writeData(`overlay-${n}`, dataOf(n));
  const journal = await machine.open();
  const instance = "1".padStart(32, "0");
  expect(journal.instance).toBe(instance);
  expect(journal.pending()).toEqual([makeCommit(instance, 0), makeCommit(instance, 2)]);
  expect(journal.nextNumber()).toBe(16_384);
});
