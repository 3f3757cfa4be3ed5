// Waiting in the outbox: for the end of a pause, and for programs that have their turn; and who waits for it.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { type Queued, type TreeChange, isSave } from "../../src/agent/changes/own-change.ts";
import { OutboxRig, change, save, settle } from "./outbox-rig.ts";

const MiB = 1024 * 1024;

let rig: OutboxRig;

beforeEach(() => {
  rig = new OutboxRig();
});

describe("what is paused", () => {
  /** A change of a name: `over` is the node that had the name. */
  function naming(n: number, op: "make" | "remove", folder: number, name: string, node: number): TreeChange {
    const isFolder = op === "remove" && name.startsWith("folder");
    const operation = {
      op,
      folder,
      name,
      node,
      isFolder,
      attributes: {},
    } as unknown as TreeChange["record"]["operation"];
    const bound = op === "make" ? node : 0;
    return { ...change(n, [folder, node]), names: [[folder, name, bound]], record: { ...change(n).record, operation } };
  }

  test("waits, and the rest goes on", async () => {
    rig.paused.add(1).add(3);
    rig.outbox.add(change(1, [5]), change(2, [6]), save(3, 7), save(4, 8));
    await settle();
    expect(rig.requests()).toEqual([
      [2, []],
      [4, [2]],
    ]);
    await rig.answer(2);
    await rig.answer(4);
    expect([rig.outbox.size, rig.outbox.isIdle]).toEqual([2, true]);
    await rig.outbox.idle();
    rig.paused.clear();
    rig.outbox.pausesChanged();
    expect(rig.outbox.isIdle).toBe(false);
    await settle();
    expect(rig.requests().slice(2)).toEqual([
      [1, []],
      [3, [1]],
    ]);
  });

  test("holds up what depends on it: the same file or name, what it makes, and the folder that it is to leave empty", async () => {
    rig.paused.add(1);
    // A file is moved out of a paused folder, say: of folder 2, name "file", node 5.
    const first = naming(1, "remove", 2, "file", 5);
    rig.outbox.add(
      first,
      change(2, [5]),
      save(3, 5),
      naming(4, "make", 2, "file", 6),
      save(5, 6),
      naming(6, "make", 2, "other", 7),
      naming(7, "remove", 1, "folder", 2),
      change(8, [9]),
    );
    await settle();
    expect(rig.requests().map(([n]) => n)).toEqual([6, 8]);
    rig.paused.clear();
    rig.outbox.pausesChanged();
    for (const n of [6, 8, 1, 2, 3, 4, 5, 7]) await rig.answer(n);
    expect(rig.requests().map(([n]) => n)).toEqual([6, 8, 1, 2, 3, 4, 5, 7]);
    expect(rig.outbox.size).toBe(0);
  });

  test("does not hold up what was there before it", async () => {
    rig.isConnected = false;
    rig.paused.add(2);
    rig.outbox.add(change(1, [5]), change(2, [5]));
    rig.isConnected = true;
    rig.outbox.pump();
    await rig.answer(1, new RunnelError("Unavailable", "setAttr", "Not now."));
    await rig.clock.advance(2_000);
    await settle();
    expect(rig.requests().map(([n]) => n)).toEqual([1, 1]);
  });

  test("fails when it is on its way, waits then, and the rest is not tried later for that", async () => {
    rig.outbox.add(save(1, 5), save(2, 6));
    await settle();
    rig.paused.add(1);
    rig.outbox.pausesChanged();
    await rig.answer(1, new RunnelError("Unreachable", "write", "Paused."));
    rig.outbox.add(change(3, [7]));
    await settle();
    expect(rig.requests().map(([n]) => n)).toContain(3);
    for (const n of [2, 3]) await rig.answer(n);
    rig.paused.clear();
    rig.outbox.pausesChanged();
    await settle();
    expect(rig.requests().filter(([n]) => n === 1)).toHaveLength(2);
  });

  test("is counted no more when a person gives it up, nor does it hold anything up", async () => {
    rig.paused.add(1);
    const given = save(1, 5, 100);
    rig.outbox.add(given, change(2, [5]));
    await settle();
    expect([rig.requests(), rig.outbox.bytes]).toEqual([[], 100]);
    given.state = "settled";
    rig.outbox.pump();
    await settle();
    expect([rig.requests().map(([n]) => n), rig.outbox.bytes, rig.outbox.size]).toEqual([[2], 0, 1]);
  });
});

describe("who waits for some of what is to be sent", () => {
  const isOf =
    (node: number) =>
    (queued: Queued): boolean =>
      isSave(queued) ? queued.node === node : queued.nodes.includes(node);

  test("waits for that and what it comes after, not for what is added later, nor for what is paused", async () => {
    rig.paused.add(4);
    rig.outbox.add(change(1, [5]), change(2, [6]), change(3, [5]), change(4, [6]));
    let isSent = false;
    void rig.outbox.sent(isOf(6)).then(() => (isSent = true));
    rig.outbox.add(change(5, [6]));
    await settle();
    expect(isSent).toBe(false);
    await rig.answer(1);
    expect(isSent).toBe(false);
    await rig.answer(2);
    expect([isSent, rig.outbox.some(isOf(6)), rig.outbox.some(isOf(5)), rig.outbox.some(isOf(7))]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test("waits for nothing where there is nothing, and for what is expected until it is here", async () => {
    await rig.outbox.sent(() => true);
    const expected = rig.outbox.expect();
    let isSent = false;
    void rig.outbox.sent(isOf(5)).then(() => (isSent = true));
    await settle();
    rig.outbox.add(change(1, [5]));
    expected[Symbol.dispose]();
    await settle();
    expect(isSent).toBe(false);
    await rig.answer(1);
    expect(isSent).toBe(true);
  });

  test("does not wait for a file to be closed, and hears that the server is full", async () => {
    const open = { ...save(1, 5), file: 9 };
    rig.outbox.add(open);
    await settle();
    expect(rig.asked).toEqual([]);
    const sent = rig.outbox.sent(isOf(5));
    await settle();
    expect(rig.requests()).toEqual([[1, []]]);
    const full = new RunnelError("NoSpace", "write", "The server is full.");
    await Promise.all([expect(sent).rejects.toBe(full), rig.answer(1, full)]);
  });
});

describe("while programs ask for one thing after another", () => {
  /** They do so every ten milliseconds. */
  async function ask(forMs: number): Promise<void> {
    for (let ms = 0; ms < forMs; ms += 10) {
      rig.outbox.programAsks();
      await rig.clock.advance(10);
    }
    await settle();
  }

  test("what nobody waits for is not sent, until they have made a pause", async () => {
    await ask(100);
    rig.outbox.add(change(1), save(2, 5));
    await ask(1_000);
    expect(rig.requests()).toEqual([]);
    await rig.clock.advance(40);
    await settle();
    expect(rig.requests()).toEqual([
      [1, []],
      [2, [1]],
    ]);
  });

  test("it is sent after two seconds all the same; what is added then has to wait again", async () => {
    rig.outbox.programAsks();
    rig.outbox.add(change(1));
    await ask(1_900);
    expect(rig.asked).toEqual([]);
    await ask(200);
    expect(rig.asked).toHaveLength(1);
    rig.outbox.add(change(2));
    await ask(1_900);
    expect(rig.asked).toHaveLength(1);
    await ask(200);
    expect(rig.asked).toHaveLength(2);
  });

  test("it does not have to wait again before all that waited is on its way, or for as long as it had to", async () => {
    await ask(100);
    rig.outbox.add(...Array.from({ length: 300 }, (_, at) => change(at + 1)));
    await ask(2_100);
    expect(rig.asked).toHaveLength(256);
    await rig.answer(1);
    expect(rig.asked).toHaveLength(257);
    await ask(2_000);
    await rig.answer(2);
    expect(rig.asked).toHaveLength(257);
    await ask(2_100);
    expect(rig.asked).toHaveLength(258);
  });

  test("a pause is one however regularly they make it", async () => {
    rig.outbox.programAsks();
    await rig.clock.advance(5);
    rig.outbox.add(change(1));
    for (let pauses = 0; pauses < 2; pauses++) {
      await rig.clock.advance(15 - 5 * (1 - pauses));
      rig.outbox.programAsks();
    }
    await settle();
    expect(rig.asked).toHaveLength(1);
  });

  test("a content whose file is open does not wait longer for that", async () => {
    await ask(100);
    rig.outbox.add({ ...save(1, 5), file: 9 });
    await ask(400);
    expect(rig.asked).toEqual([]);
    await rig.clock.advance(40);
    await settle();
    expect(rig.asked).toHaveLength(1);
  });

  test("who waits for some of it, or all, does not wait for them", async () => {
    await ask(100);
    rig.outbox.add(change(1, [5]), change(2, [6]));
    void rig.outbox.sent((queued) => queued.n === 1);
    await settle();
    expect(rig.asked).toHaveLength(2);
    for (const n of [1, 2]) await rig.answer(n);
    rig.outbox.add(change(3));
    await ask(100);
    expect(rig.asked).toHaveLength(2);
    void rig.outbox.idle();
    await settle();
    expect(rig.asked).toHaveLength(3);
  });

  test("who waits for what is expected does not wait for them with the rest, nor who lacks room", async () => {
    await ask(100);
    rig.outbox.add(change(1));
    using expected = rig.outbox.expect();
    void expected;
    void rig.outbox.sent(() => true);
    await settle();
    expect(rig.asked).toHaveLength(1);
    rig = new OutboxRig();
    await ask(100);
    rig.outbox.add(change(1));
    rig.lacksRoom = true;
    rig.outbox.pump();
    expect(rig.asked).toHaveLength(1);
  });

  test("the line does not wait while much is to be sent", async () => {
    await ask(100);
    rig.outbox.add(save(1, 5, 3 * MiB));
    await settle();
    expect(rig.asked).toEqual([]);
    rig.outbox.add(save(2, 6, 3 * MiB));
    await settle();
    expect(rig.asked).toHaveLength(2);
    rig = new OutboxRig();
    await ask(100);
    rig.outbox.add(...Array.from({ length: 1_999 }, (_, at) => change(at + 1)));
    expect(rig.asked).toEqual([]);
    rig.outbox.add(change(2_000));
    expect(rig.asked).toHaveLength(256);
  });

  test("nothing is sent once it is closed", async () => {
    await ask(100);
    rig.outbox.add(change(1));
    rig.outbox.close();
    await rig.clock.advance(5_000);
    expect(rig.asked).toEqual([]);
  });
});
