// Saves that fail, and what is done about them: each is executed once, nothing takes the place of what it does not
// hold, and what is not certain becomes a copy.
import { describe, expect, test } from "@jest/globals";
import { ROOT_NODE, RunnelError, isInSpan } from "@runnel/shared";
import { type Save, type TreeChange, isFollowing } from "../../../src/agent/changes/own-change.ts";
import { EPOCH } from "../../journal/journal-machine.ts";
import { makeState } from "../../replica/model-tree.ts";
import { NODE, SaveRig, VERSION } from "./save-rig.ts";

/** Time after which an answer that never came is given up. */
const LATER = 40_000;

function numbersOf(rig: SaveRig): number[] {
  return rig.unsent.list().map(({ n }) => n);
}

/** Returns true when the next request would say that the number's answer has arrived. */
function isReceived(rig: SaveRig, n: number): boolean {
  rig.changes.step(rig.changes.begin(), "settle");
  const { received, but = [] } = rig.changes.received;
  return n <= received && !isInSpan(n, but);
}

describe("a save that fails", () => {
  test("[W24] keeps its number from being reported as received, in this life and the next, until it is sent and a power cut cannot undo that", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace")];
    expect(await rig.close(1)).toBe("NoSpace");
    const [n = 0] = numbersOf(rig);
    expect(isReceived(rig, n)).toBe(false);
    await rig.again();
    expect(isReceived(rig, n)).toBe(false);
    rig.writes = [async () => undefined];
    await rig.unsent.replay();
    expect(isReceived(rig, n)).toBe(false);
    await rig.machine.clock.advance(LATER);
    expect(isReceived(rig, n)).toBe(true);
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.journal.pending()).toEqual([]);
  });

  test("is not replaced by what another program saves over the server's version; it becomes a copy", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    expect(await rig.close(1)).toBe("NoSpace");
    await rig.commits.closed(1);
    expect(await rig.close(2)).toBe("saved");
    expect(rig.unsent.list()).toHaveLength(1);
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
    const [made] = rig.asked.filter(({ is }) => is === "make");
    expect(made).toMatchObject({ name: expect.stringMatching(/^file \(unsent .*\)\.txt$|^file\.txt$/) });
    expect(rig.asked.at(-1)).toMatchObject({ is: "write", node: made?.node });
  });

  test("is replaced by the next save of the same open file", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    expect(await rig.close(1)).toBe("NoSpace");
    expect(await rig.close(1)).toBe("saved");
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.journal.pending()).toEqual([]);
  });

  test("keeps its bytes where they are as long as its program has the file open, which saves them with what follows", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    expect(await rig.close(1)).toBe("NoSpace");
    const [n = 0] = numbersOf(rig);
    const files = await rig.machine.dataFiles();
    await rig.unsent.replay();
    await rig.machine.clock.advance(LATER);
    expect(rig.unsent.isEmpty).toBe(true);
    expect(await rig.machine.dataFiles()).toEqual(files);
    expect(isReceived(rig, n)).toBe(false);
    await rig.commits.closed(1);
    await rig.machine.clock.advance(LATER);
    expect(await rig.machine.dataFiles()).toEqual([]);
    expect(rig.journal.pending()).toEqual([]);
    expect(isReceived(rig, n)).toBe(true);
    expect(rig.asked).toHaveLength(2);
  });

  test("is told to the drive, and done though its program has the file open where that reads it from the cache", async () => {
    for (const isRebased of [false, true]) {
      const rig = await new SaveRig().open();
      rig.isRebased = isRebased;
      rig.writes = [rig.refuse("NoSpace"), async () => undefined];
      expect(await rig.close(1)).toBe("NoSpace");
      const [n = 0] = numbersOf(rig);
      await rig.unsent.replay();
      await rig.machine.clock.advance(LATER);
      expect(rig.told).toEqual([[1, 1, VERSION + 1, false]]);
      expect(isReceived(rig, n)).toBe(isRebased);
      expect(await rig.machine.dataFiles()).toHaveLength(isRebased ? 0 : 1);
    }
  });

  test("that waited for its turn is done when it has been sent, although its program has the file open", async () => {
    const rig = await new SaveRig().open();
    rig.isAsync = true;
    for (let count = 0; count < 3; count++) {
      expect(await rig.close(1)).toBe("saved");
      const save = rig.queued.at(-1) as Save;
      await rig.sendInTurn(save);
      await rig.machine.clock.advance(LATER);
      expect([save.state, isReceived(rig, save.n)]).toEqual(["settled", true]);
      expect(rig.told).toHaveLength(count + 1);
    }
    expect(await rig.machine.dataFiles()).toEqual([]);
  });

  test("is settled once when its file is closed while what was sent is taken into the cache", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    await rig.close(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.keeping = promise;
    const replaying = rig.unsent.replay();
    while (rig.asked.length < 2) await rig.machine.clock.advance(1);
    const closing = rig.commits.closed(1);
    await rig.machine.clock.advance(LATER);
    expect(await rig.machine.dataFiles()).toHaveLength(1);
    resolve();
    await Promise.all([replaying, closing]);
    await rig.machine.clock.advance(LATER);
    expect(await rig.machine.dataFiles()).toEqual([]);
    expect(rig.unsent.isEmpty).toBe(true);
  });

  test("that is being sent is waited for by the next save of its file, which is made of what it has become", async () => {
    const rig = await new SaveRig().open();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.writes = [rig.refuse("NoSpace"), () => promise, async () => undefined];
    expect(await rig.close(1)).toBe("NoSpace");
    const replaying = rig.unsent.replay();
    while (rig.asked.length < 2) await rig.machine.clock.advance(1);
    const put = rig.journal.put.bind(rig.journal);
    const bases: number[] = [];
    rig.journal.put = (...args) => {
      bases.push(args[0].baseVersion);
      return put(...args);
    };
    const next = rig.close(1);
    await rig.machine.clock.advance(LATER);
    expect(bases).toEqual([]);
    resolve();
    await replaying;
    expect(await next).toBe("saved");
    expect(bases).toEqual([VERSION + 1]);
    expect(rig.asked).toHaveLength(3);
    expect(rig.unsent.isEmpty).toBe(true);
  });

  test("is executed once when the agent is killed while its program has the file open", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    await rig.close(1);
    await rig.unsent.replay();
    await rig.again();
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.journal.pending()).toEqual([]);
    expect(new Set(rig.asked.map(({ n }) => n)).size).toBe(1);
  });

  test.each([
    ["of another epoch and instance", "another", true],
    ["of another epoch alone, as when the replica was lost", "another", false],
    ["of another instance alone", EPOCH, true],
  ])("%s is never sent to the node of that number: it becomes a copy", async (_what, epoch, isRenewed) => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("Unreachable"), async () => undefined];
    await rig.close(1);
    const before = rig.asked.length;
    rig.epoch = epoch;
    if (isRenewed) await rig.journal.renew();
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.asked.slice(before).map(({ is, node }) => [is, node === NODE])).toEqual([
      ["make", false],
      ["write", false],
    ]);
  });

  test("because the epoch has changed since it was recorded is not sent at all, and is kept", async () => {
    const rig = await new SaveRig().open();
    const put = rig.journal.put.bind(rig.journal);
    rig.journal.put = async (...args) => {
      await put(...args);
      rig.epoch = "another";
    };
    expect(await rig.close(1)).toBe("Stale");
    expect(rig.asked).toEqual([]);
    expect(rig.unsent.list()).toMatchObject([{ node: NODE, epoch: EPOCH }]);
  });

  test("waits, whatever a server says that does not say what became of the file", async () => {
    for (const kind of ["NotFound", "Unavailable", "Denied", "Busy"] as const) {
      const rig = await new SaveRig().open();
      rig.writes = [rig.refuse(kind)];
      await rig.close(1);
      await rig.unsent.replay();
      expect(rig.asked.map(({ is, node }) => [is, node])).toEqual([
        ["write", NODE],
        ["write", NODE],
      ]);
      const isStuck = kind === "NotFound" || kind === "Denied";
      expect(rig.unsent.items()).toMatchObject([{ isStuck, reason: "The server refuses." }]);
    }
  });
});

describe("a save that succeeded", () => {
  test("before the server had it survives a power cut once its file, or a folder, was synced", async () => {
    for (const isSynced of [false, true]) {
      const rig = new SaveRig();
      rig.isAsync = true;
      await rig.open();
      expect(await rig.close(1)).toBe("saved");
      if (isSynced) await rig.commits.sync({ op: "sync", id: 9, caller: { uid: 0, gid: 0, pid: 1 } });
      expect(rig.done).toEqual(isSynced ? [9] : []);
      await rig.machine.cutPower();
      const journal = await rig.machine.open();
      expect(journal.pending()).toHaveLength(isSynced ? 1 : 0);
      await journal.close();
    }
  });

  test("is not sent again when what follows in the journal fails", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace"), async () => undefined];
    await rig.close(1);
    rig.machine.disk.fault = (operation) => (operation === "write" && rig.asked.length > 1 ? "Io" : undefined);
    expect(await rig.close(1)).toBe("saved");
    expect(rig.unsent.isEmpty).toBe(true);
    rig.machine.disk.fault = undefined;
    await rig.unsent.replay();
    expect(rig.asked).toHaveLength(2);
  });

  test("is the base of the next one only when its content is in the cache", async () => {
    const rig = await new SaveRig().open();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.keeping = promise;
    const first = rig.close(1);
    while (rig.committed.length === 0) await rig.machine.clock.advance(1);
    const second = rig.close(1, { baseVersion: VERSION + 1 });
    await rig.machine.clock.advance(LATER);
    expect(rig.asked).toHaveLength(1);
    resolve();
    expect([await first, await second]).toEqual(["saved", "saved"]);
    expect(rig.asked).toHaveLength(2);
  });
});

describe("[F101] a conflict copy", () => {
  /** An unsent save of a file that was changed elsewhere. */
  async function conflicted(begin: (rig: SaveRig) => void = () => undefined): Promise<SaveRig> {
    const rig = await new SaveRig().open();
    begin(rig);
    rig.names.set("file.txt", NODE);
    rig.writes = [rig.refuse("Unreachable")];
    rig.states.set(NODE, { ...makeState(NODE, "file", VERSION), version: VERSION, mode: 0o640, uid: 12, gid: 34 });
    await rig.close(1);
    rig.states.set(NODE, { ...makeState(NODE, "file", VERSION + 1), version: VERSION + 1 });
    rig.asked.length = 0;
    return rig;
  }

  test("has one name, node and number of each, whatever fails, also in another life of the agent", async () => {
    const rig = await conflicted();
    rig.makes = [rig.refuse("Unreachable"), rig.refuse("NoSpace"), async () => undefined];
    for (let round = 0; round < 3; round++) await rig.unsent.replay();
    await rig.again();
    for (let round = 0; round < 2; round++) await rig.unsent.replay();
    rig.writes = [async () => undefined];
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
    const first = rig.asked.find(({ is }) => is === "make");
    expect(first).toMatchObject({ name: expect.stringMatching(/^file \(unsent .*\)\.txt$/) });
    const [makes, writes] = [rig.asked.filter(({ is }) => is === "make"), rig.asked.filter(({ n }) => n !== first?.n)];
    for (const make of makes) expect(make).toEqual(first);
    // The first asked whether the edit itself had been executed.
    expect(new Set(writes.slice(1).map(({ n, node }) => `${n} ${node}`)).size).toBe(1);
    expect(rig.problems.join()).toContain("file.txt was changed elsewhere while it waited to be sent");
  });

  test("has the owner and mode that its file had when it was written", async () => {
    const rig = await conflicted();
    await rig.unsent.replay();
    const [record] = rig.unsent.list();
    expect(record).toMatchObject({ copy: { of: "file.txt" }, attributes: { mode: 0o640, uid: 12, gid: 34 } });
  });

  test("is sent once when the agent is killed between the answer and its note in the journal", async () => {
    const rig = await conflicted();
    rig.writes = [async () => undefined];
    const done = rig.journal.done.bind(rig.journal);
    rig.journal.done = async () => undefined;
    await rig.unsent.replay();
    rig.journal.done = done;
    const states = rig.states.size;
    await rig.again();
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.states.size).toBe(states);
    expect(rig.journal.pending()).toEqual([]);
  });

  test("waits under its name while a server finds nothing, unless it says that the folder is gone", async () => {
    const rig = await conflicted();
    rig.makes = [rig.refuse("NotFound")];
    for (let round = 0; round < 3; round++) await rig.unsent.replay();
    const makes = rig.asked.filter(({ is }) => is === "make");
    expect(makes).toHaveLength(3);
    expect(new Set(makes.map((make) => JSON.stringify(make))).size).toBe(1);
    rig.states.delete(ROOT_NODE);
    rig.makes = [rig.refuse("NotFound"), async () => undefined];
    rig.writes = [async () => undefined];
    await rig.unsent.replay();
    expect(rig.unsent.isEmpty).toBe(true);
  });

  test("planned in a folder that this client had made is made in the one that the server has in its place", async () => {
    const [made, other] = [700, 800];
    const rig = await conflicted((each) => {
      each.path = "made/file.txt";
      each.names.set("made", made);
      each.states.set(made, makeState(made, "folder", VERSION));
    });
    rig.makes = [rig.refuse("Unreachable"), async () => undefined];
    await rig.unsent.replay();
    rig.reals.set(made, other);
    rig.writes = [async () => undefined];
    await rig.unsent.replay();
    const makes = rig.asked.filter(({ is }) => is === "make");
    expect(makes).toMatchObject([{ folder: made }, { folder: other, n: makes[0]?.n }]);
    expect(rig.unsent.isEmpty).toBe(true);
  });

  test("for which no name is free is tried a few times, and then later", async () => {
    const rig = await conflicted();
    rig.makes = [rig.refuse("Exists")];
    await rig.unsent.replay();
    const names = rig.asked.flatMap((each) => (each.is === "make" ? [each.name] : []));
    expect(names.length).toBeLessThan(10);
    expect(new Set(names).size).toBeGreaterThan(1);
    expect(rig.unsent.items()).toMatchObject([{ isStuck: true }]);
  });

  test("whose name is taken meanwhile gets another one", async () => {
    const rig = await conflicted();
    rig.makes = [rig.refuse("Exists"), async () => undefined];
    rig.writes = [async () => undefined];
    await rig.unsent.replay();
    const [one, other] = rig.asked.filter(({ is }) => is === "make");
    expect(one?.n).not.toBe(other?.n);
    expect(rig.unsent.isEmpty).toBe(true);
  });
});

describe("what a person gives up", () => {
  test("is gone from the journal; what a program has open, or is being sent, is not given up", async () => {
    const rig = await new SaveRig().open();
    rig.writes = [rig.refuse("NoSpace")];
    await rig.close(1);
    const [record] = rig.unsent.list();
    if (record === undefined) throw new Error("Nothing is unsent.");
    await expect(rig.unsent.discard(record)).rejects.toMatchObject({ kind: "Busy" });
    await rig.commits.closed(1);
    await rig.unsent.discard(record);
    expect(rig.unsent.isEmpty).toBe(true);
    expect(rig.journal.pending()).toEqual([]);
    expect(rig.dropped).toMatchObject([{ save: { n: record.n }, pending: 1 }]);
  });
});

describe("in mode async, a save of a content that is on its way", () => {
  /** Two saves, one over the other, the first of which is being sent until `answer` says what becomes of it. */
  async function two(): Promise<{
    rig: SaveRig;
    first: Save;
    second: Save;
    answer: PromiseWithResolvers<void>;
    sent: Promise<void>;
  }> {
    const rig = await new SaveRig().open();
    rig.isAsync = true;
    const answer = Promise.withResolvers<void>();
    rig.writes = [() => answer.promise, async () => undefined];
    expect(await rig.close(1)).toBe("saved");
    const [first] = rig.queued as [Save];
    const sent = rig.sendInTurn(first);
    await rig.commits.closed(1);
    expect(await rig.close(2, { baseVersion: first.shownAs, baseBytes: 100 })).toBe("saved");
    const second = rig.queued[1] as Save;
    expect([first.state, second.state, isFollowing(second)]).toEqual(["sent", "unsent", true]);
    return { rig, first, second, answer, sent };
  }

  test("[F193] is an edit of the version that comes of it, which is recorded before that is done", async () => {
    const { rig, first, second, answer, sent } = await two();
    answer.resolve();
    await sent;
    expect([first.state, isFollowing(second)]).toEqual(["settled", false]);
    expect(rig.journal.pending()).toMatchObject([{ n: second.n, baseVersion: VERSION + 1 }]);
    expect(rig.journal.pending()[0]).not.toHaveProperty("follows");
    await rig.commits.closed(2);
    await rig.sendInTurn(second);
    expect(rig.asked).toMatchObject([
      { n: first.n, base: VERSION, layers: 1 },
      { n: second.n, base: VERSION + 1, layers: 2 },
    ]);
    expect([rig.unsent.isEmpty, rig.journal.pending()]).toEqual([true, []]);
  });

  test("is that also after a kill, whatever came of the first", async () => {
    for (const isAnswered of [true, false]) {
      const { rig, first, second, answer } = await two();
      if (isAnswered) {
        // The agent is killed before it hears.
        rig.keeping = new Promise(() => undefined);
        answer.resolve();
        await rig.machine.clock.advance(100);
      }
      rig.writes = [async () => undefined];
      await rig.again();
      expect(rig.unsent.list().map(({ n }) => n)).toEqual([first.n, second.n]);
      rig.keeping = Promise.resolve();
      await rig.unsent.replay();
      expect(rig.asked.at(-1)).toMatchObject({ n: second.n, base: VERSION + 1, layers: 2 });
      expect([rig.unsent.isEmpty, rig.conflicts, rig.names.size]).toEqual([true, [], 0]);
    }
  });

  test("takes its place when it is refused, and waits on when the line breaks", async () => {
    const { rig, first, second, answer, sent } = await two();
    answer.reject(new RunnelError("Unreachable", "write", "The line broke."));
    await sent;
    expect([first.state, isFollowing(second)]).toEqual(["unsent", true]);
    expect(numbersOf(rig)).toEqual([first.n, second.n]);
    rig.writes = [rig.refuse("TooLarge"), async () => undefined];
    await rig.sendInTurn(first);
    expect([first.state, isFollowing(second)]).toEqual(["settled", false]);
    expect(rig.journal.pending()).toMatchObject([{ n: second.n, baseVersion: VERSION }]);
    // Before it is ended: after a kill its file must not get a name without it.
    expect(rig.dropped).toEqual([{ save: first, pending: 2, copies: 0 }]);
    await rig.sendInTurn(second);
    expect(rig.asked.at(-1)).toMatchObject({ n: second.n, base: VERSION, layers: 2 });
    expect(rig.unsent.isEmpty).toBe(true);
  });

  test("goes into the copy that it becomes", async () => {
    const { rig, first, second, answer, sent } = await two();
    rig.states.set(NODE, { ...makeState(NODE, "file", 50), version: 50 });
    rig.writes = [async () => undefined];
    answer.reject(new RunnelError("Stale", "write", "It was changed."));
    await sent;
    const copy = first.version?.node ?? 0;
    expect(copy).toBeGreaterThan(NODE);
    await rig.sendInTurn(second);
    expect(rig.asked.at(-1)).toMatchObject({ n: second.n, node: copy, base: first.version?.seq });
    expect([rig.unsent.isEmpty, rig.names.size]).toEqual([true, 1]);
  });

  test("[F193] leaves names that its file got to nobody once they are in a copy: before that is recorded", async () => {
    const { rig, first, second, answer, sent } = await two();
    rig.states.set(NODE, { ...makeState(NODE, "file", 50), version: 50 });
    const write = Promise.withResolvers<void>();
    rig.writes = [() => write.promise];
    answer.reject(new RunnelError("Stale", "write", "It was changed."));
    await rig.machine.clock.advance(100);
    expect(rig.dropped).toEqual([first, second].map((save) => ({ save, pending: 2, copies: 0 })));
    // It may have got one since: the second is in no copy yet.
    write.resolve();
    await sent;
    expect(rig.dropped.slice(2)).toEqual([{ save: second, pending: 2, copies: 1 }]);
    await rig.sendInTurn(second);
    expect(rig.dropped).toHaveLength(3);
  });

  test("gives way to the next one, which then follows", async () => {
    const { rig, first, second, answer, sent } = await two();
    await rig.commits.closed(2);
    expect(await rig.close(3, { baseVersion: second.shownAs, baseBytes: 100 })).toBe("saved");
    const third = rig.queued[2] as Save;
    expect([second.state, third.follows]).toEqual(["settled", first]);
    answer.resolve();
    await sent;
    expect(rig.journal.pending()).toMatchObject([{ n: third.n, baseVersion: VERSION + 1 }]);
    expect(await rig.close(4, { baseVersion: third.shownAs, baseBytes: 100 })).toBe("saved");
    expect(rig.journal.pending()).toMatchObject([{ baseVersion: VERSION + 1, layers: [{}, {}, {}, {}] }]);
  });

  test("waits while the make of its file is to be sent again: nothing is made in that one's place", async () => {
    const rig = await new SaveRig().open();
    rig.isAsync = true;
    expect(await rig.close(1)).toBe("saved");
    const [save] = rig.queued as [Save];
    const attributes = { type: "file", mode: 0o644, uid: 0, gid: 0, mtimeNs: 1n, rdev: 0, target: "" } as const;
    const operation = { op: "make", folder: 1, name: "file.txt", node: NODE, attributes } as const;
    const record = { n: 1, instance: rig.journal.instance, epoch: "e", timeNs: 1n, operation, path: "file.txt" };
    const how = { state: "begun", isAwaited: false, names: [], nodes: [NODE], content: undefined } as const;
    const made = rig.changes.add<TreeChange>({ n: 1, record, ...how });
    for (const event of ["record", "send", "fail"] as const) rig.changes.step(made, event);
    rig.states.delete(NODE);
    await rig.sendInTurn(save, false);
    expect([save.state, save.failure, rig.asked]).toMatchObject(["unsent", { kind: "Unreachable" }, []]);
    rig.states.set(NODE, { ...makeState(NODE, "file", VERSION), version: VERSION });
    for (const event of ["send", "answer"] as const) rig.changes.step(made, event);
    await rig.sendInTurn(save, false);
    expect(rig.asked).toMatchObject([{ is: "write", node: NODE }]);
  });

  test("waits for the make of its file that was begun while programs waited for the server", async () => {
    const rig = await new SaveRig().open();
    rig.isAsync = true;
    expect(await rig.close(1)).toBe("saved");
    const [save] = rig.queued as [Save];
    const state = rig.states.get(NODE);
    const made = Promise.withResolvers<void>();
    rig.making = made.promise;
    rig.states.delete(NODE);
    const sent = rig.sendInTurn(save, false);
    await rig.machine.clock.advance(100);
    expect(rig.asked).toEqual([]);
    if (state !== undefined) rig.states.set(NODE, state);
    made.resolve();
    await sent;
    expect([save.state, rig.asked]).toMatchObject(["settled", [{ is: "write", node: NODE }]]);
  });

  test("goes with it when a program removes the file", async () => {
    const { rig, answer, sent } = await two();
    await rig.unsent.removed(NODE);
    answer.reject(new RunnelError("Gone", "write", "It is gone."));
    await sent;
    expect([rig.unsent.isEmpty, rig.journal.pending()]).toEqual([true, []]);
  });
});
