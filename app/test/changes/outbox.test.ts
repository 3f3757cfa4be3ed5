// Changes on their way to a server that executes what comes after another one only when that succeeded ([W29]).
import { beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock } from "@runnel/shared";
import type { Turn } from "../../src/agent/transfer/upload.ts";
import { Outbox } from "../../src/agent/changes/outbox.ts";
import { type Queued, type Save, type TreeChange, isSave } from "../../src/agent/changes/own-change.ts";

const MiB = 1024 * 1024;

interface Asked {
  queued: Queued;
  after: readonly number[];
  answer: PromiseWithResolvers<void>;
}

let clock: SimulatedClock;
let isConnected: boolean;
let isCertain: boolean;
/** A program has not removed the files whose contents are sent. */
let isWanted: boolean;
/** All that the server was asked, in order. */
let asked: Asked[];
let refused: number[];
/** Numbers of the changes of what is paused. */
let paused: Set<number>;
/** Contents that are being read and compressed, by number. */
let prepared: Map<number, Turn>;
/** Contents whose preparation takes until a test ends it. */
let unprepared: Map<number, PromiseWithResolvers<void>>;
let outbox: Outbox;

beforeEach(() => {
  clock = new SimulatedClock();
  [isConnected, isCertain, isWanted, asked, refused] = [true, true, true, [], []];
  [prepared, unprepared, paused] = [new Map(), new Map(), new Set()];
  outbox = new Outbox({
    clock,
    isConnected: () => isConnected,
    isPaused: (queued) => paused.has(queued.n),
    isCertain: () => isCertain,
    sendChange: (queued, after) => ask(queued, after),
    sendSave: async (queued, _making, turn) => {
      prepared.set(queued.n, turn);
      queued.state = "sent";
      await turn.comes;
      await unprepared.get(queued.n)?.promise;
      const answered = ask(queued, turn.after);
      turn.opened();
      await answered.then(
        () => ([queued.state, queued.version] = ["committed", { node: queued.node, seq: queued.n }]),
        (error: unknown) => ([queued.state, queued.failure] = [isWanted ? "unsent" : "settled", error]),
      );
    },
    lessened: () => undefined,
    lacksSpace: () => undefined,
    refused: async ({ n }) => void refused.push(n),
  });
});

function ask(queued: Queued, after: readonly number[]): Promise<void> {
  const answered = Promise.withResolvers<void>();
  asked.push({ queued, after, answer: answered });
  return answered.promise;
}

function change(n: number, nodes: readonly number[] = []): TreeChange {
  const operation = { op: "setAttr", node: nodes[0] ?? 1, change: {} } as const;
  const record = { n, instance: "i", epoch: "e", timeNs: 0n, path: "", operation };
  return { n, state: "recorded", isAwaited: false, names: [], nodes, record, content: undefined };
}

function save(n: number, node: number, sizeBytes = 10): Save {
  const record = {
    n,
    node,
    sizeBytes,
    layers: [{ extents: [{ offset: 0, length: sizeBytes }] }],
  } as unknown as Save["record"];
  const untried = { failure: undefined, sending: undefined, recording: undefined, version: undefined, shownAs: 0 };
  return {
    n,
    node,
    state: "unsent",
    isAwaited: false,
    names: [],
    record,
    order: n,
    file: 0,
    follows: undefined,
    request: 0,
    isToldFailed: false,
    ...untried,
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}

test("forgets a content whose place another one has taken, also without a line", () => {
  isConnected = false;
  const [first, former, next] = [save(1, 4, 10), save(2, 5, 100), save(3, 5, 200)];
  outbox.add(first);
  outbox.add(former);
  former.state = "settled";
  outbox.add(next);
  outbox.replaced([former, first]);
  expect([outbox.bytes, outbox.size, outbox.has(former)]).toEqual([210, 2, false]);
  isConnected = true;
  outbox.pump();
  expect([...prepared.keys()]).toEqual([1, 3]);
});

test("counts the bytes of contents until they are sent or given up", async () => {
  expect(outbox.bytes).toBe(0);
  const given = save(3, 7, 5);
  outbox.add(save(1, 5, 100), change(2), given);
  expect(outbox.bytes).toBe(105);
  given.state = "settled";
  await settle();
  for (const each of asked) each.answer.resolve();
  await settle();
  outbox.pump();
  expect([outbox.bytes, outbox.size]).toEqual([0, 0]);
});

function requests(): [number, readonly number[]][] {
  return asked.map(({ queued, after }) => [queued.n, after]);
}

async function answer(n: number, failure?: RunnelError): Promise<void> {
  const last = asked.findLast(({ queued }) => queued.n === n);
  if (failure === undefined) last?.answer.resolve();
  else last?.answer.reject(failure);
  await settle();
}

test("each is asked for without waiting, to be executed after the one before it", async () => {
  outbox.add(change(1), save(2, 5), change(3), save(4, 6), change(5));
  await settle();
  expect(requests()).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
    [4, [3]],
    [5, [4]],
  ]);
  for (const n of [1, 2, 3, 4, 5]) await answer(n);
  expect(outbox.size).toBe(0);
});

test("what a program does next is not asked for before a content that is still being prepared, and contents are prepared together", async () => {
  unprepared.set(1, Promise.withResolvers());
  outbox.add(save(1, 5), save(2, 6), change(3));
  await settle();
  expect([...prepared.keys()]).toEqual([1, 2]);
  expect(requests()).toEqual([]);
  unprepared.get(1)?.resolve();
  await settle();
  expect(requests()).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
  ]);
});

test("a large content holds up what depends on it, and nothing else", async () => {
  outbox.add(save(1, 5, 2 * MiB), change(2, [6]), change(3, [5]), change(4, [6]));
  await settle();
  expect(new Map(requests())).toEqual(
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
  outbox.add(change(2, [5]), following, change(4, [5]), copy);
  await settle();
  expect(requests()).toEqual([
    [2, []],
    [9, []],
  ]);
  await answer(2);
  await answer(9, new RunnelError("Unreachable", "write", "The line broke."));
  outbox.resume();
  await settle();
  expect(requests().slice(2)).toEqual([[9, []]]);
  await answer(9);
  copy.state = "settled";
  outbox.pump();
  await settle();
  expect(requests().slice(3)).toEqual([
    [3, []],
    [4, [3]],
  ]);
});

test("several conflict copies, as a former process left them, go before what follows the first", async () => {
  const copies = [save(8, 7), save(9, 8)];
  for (const copy of copies) copy.record = { ...copy.record, copy: {} as NonNullable<Save["record"]["copy"]> };
  outbox.add({ ...save(3, 5), follows: copies[0] }, change(4, [5]), ...copies);
  await settle();
  expect([...prepared.keys()]).toEqual([8, 9]);
});

test("what becomes a conflict copy behind all that waits leaves the others in their order", async () => {
  const copy = save(2, 7);
  outbox.add(change(1), copy);
  await settle();
  isConnected = false;
  outbox.add(change(3));
  const gone = new RunnelError("Unreachable", "write", "The line broke.");
  // It has a number of its own by the time that it comes back, and is known for a copy a moment later.
  copy.n = 9;
  await answer(9, gone);
  copy.record = { ...copy.record, copy: {} as NonNullable<Save["record"]["copy"]> };
  await answer(1, gone);
  isConnected = true;
  outbox.resume();
  await settle();
  const again = requests().slice(2);
  expect(again.filter(([n]) => n !== 9)).toEqual([
    [1, []],
    [3, [1]],
  ]);
});

test("a refusal is the change's own; what comes after it is sent again, once all of that has failed with it", async () => {
  outbox.add(change(1), change(2), save(3, 5), change(4));
  await settle();
  const taken = new RunnelError("Exists", "make", "The name is taken.");
  await answer(1, taken);
  await answer(2, taken);
  expect(asked).toHaveLength(4);
  await answer(3, taken);
  await answer(4, taken);
  expect(refused).toEqual([1]);
  expect(requests().slice(4)).toEqual([
    [2, []],
    [3, [2]],
    [4, [3]],
  ]);
  for (const n of [2, 3, 4]) await answer(n);
  expect([outbox.size, refused]).toEqual([0, [1]]);
});

test("the removal of a file whose content fails is no refusal of its own", async () => {
  outbox.add(save(1, 5), change(2, [5]));
  await settle();
  isWanted = false;
  const gone = new RunnelError("Gone", "write", "The version is no longer kept.");
  // The content is being sent another way when its first attempt has failed what comes after it.
  await answer(2, gone);
  expect([refused, asked.length]).toEqual([[], 2]);
  await answer(1, gone);
  expect([refused, requests().slice(2)]).toEqual([[], [[2, []]]]);
  await answer(2);
  expect(outbox.size).toBe(0);
});

test("what may pass is tried again in its order after a while, and whoever waits for all is told that the server is full", async () => {
  outbox.add(change(1), change(2));
  await settle();
  const idle = outbox.idle();
  const full = new RunnelError("NoSpace", "make", "The server's disk is full.");
  await Promise.all([answer(1, full), answer(2, full), expect(idle).rejects.toMatchObject({ kind: "NoSpace" })]);
  expect([asked.length, outbox.size, refused]).toEqual([2, 2, []]);
  await clock.advance(5_000);
  await settle();
  expect(requests().slice(2)).toEqual([
    [1, []],
    [2, [1]],
  ]);
});

test("after a broken line all is sent again in its order, and not before the line is there", async () => {
  outbox.add(save(1, 5), change(2), change(3));
  await settle();
  isConnected = false;
  const gone = new RunnelError("Unreachable", "write", "The line broke.");
  for (const n of [1, 2, 3]) await answer(n, gone);
  await clock.advance(10_000);
  expect(asked).toHaveLength(3);
  isConnected = true;
  outbox.resume();
  await settle();
  expect(requests().slice(3)).toEqual([
    [1, []],
    [2, [1]],
    [3, [2]],
  ]);
});

test("contents that others may have changed meanwhile are sent side by side; names of such a file wait for it", async () => {
  isCertain = false;
  outbox.add(save(1, 5), save(2, 6), change(3, [6]), change(4, [7]));
  await settle();
  expect(requests()).toEqual([
    [1, []],
    [2, []],
    [3, [2]],
    [4, [3]],
  ]);
  expect(asked.filter(({ queued }) => isSave(queued))).toHaveLength(2);
});

test("what is saved of a file that is open still is not sent for a moment, unless somebody waits", async () => {
  const openFile = (n: number): Save => ({ ...save(n, n), file: 7 });
  const [first, second, third] = [openFile(1), openFile(2), openFile(3)];
  outbox.add(first);
  await settle();
  expect(requests()).toEqual([]);
  first.file = 0;
  outbox.pump();
  await settle();
  expect(requests()).toEqual([[1, []]]);
  outbox.add(second, change(4));
  await settle();
  expect(asked).toHaveLength(1);
  await clock.advance(1_000);
  await settle();
  expect(requests().slice(1)).toEqual([
    [2, [1]],
    [4, [2]],
  ]);
  outbox.add({ ...third, n: 5 });
  outbox.idle().catch(() => undefined);
  await settle();
  expect(requests().slice(3)).toEqual([[5, [4]]]);
});

function numbers(): number[] {
  return requests()
    .map(([n]) => n)
    .toSorted((one, other) => one - other);
}

test("what holds a content that is on its way waits for its answer: later changes too, unless that is large", async () => {
  for (const [sizeBytes, meanwhile] of [
    [10, [1]],
    [2 * MiB, [1, 3, 4]],
  ] as const) {
    asked = [];
    const first = save(1, 5, sizeBytes);
    const second: Save = { ...save(2, 5, sizeBytes), follows: first };
    outbox.add(first, second, change(3, [6]), change(4, [7]), change(5, [5]), change(6, [8]));
    await settle();
    // A name of its file is none of those that pass it.
    expect(numbers()).toEqual(meanwhile);
    second.follows = undefined;
    await answer(1);
    for (const n of [3, 4]) await answer(n);
    expect(numbers()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(requests().findIndex(([n]) => n === 2)).toBeLessThan(requests().findIndex(([n]) => n === 5));
    for (const n of [2, 3, 4, 5, 6]) await answer(n);
    expect(outbox.size).toBe(0);
  }
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
    paused.add(1).add(3);
    outbox.add(change(1, [5]), change(2, [6]), save(3, 7), save(4, 8));
    await settle();
    expect(requests()).toEqual([
      [2, []],
      [4, [2]],
    ]);
    await answer(2);
    await answer(4);
    expect([outbox.size, outbox.isIdle]).toEqual([2, true]);
    await outbox.idle();
    paused.clear();
    outbox.pausesChanged();
    expect(outbox.isIdle).toBe(false);
    await settle();
    expect(requests().slice(2)).toEqual([
      [1, []],
      [3, [1]],
    ]);
  });

  test("holds up what depends on it: the same file or name, what it makes, and the folder that it is to leave empty", async () => {
    paused.add(1);
    // A file is moved out of a paused folder, say: of folder 2, name "file", node 5.
    const first = naming(1, "remove", 2, "file", 5);
    outbox.add(
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
    expect(requests().map(([n]) => n)).toEqual([6, 8]);
    paused.clear();
    outbox.pausesChanged();
    for (const n of [6, 8, 1, 2, 3, 4, 5, 7]) await answer(n);
    expect(requests().map(([n]) => n)).toEqual([6, 8, 1, 2, 3, 4, 5, 7]);
    expect(outbox.size).toBe(0);
  });

  test("does not hold up what was there before it", async () => {
    isConnected = false;
    paused.add(2);
    outbox.add(change(1, [5]), change(2, [5]));
    isConnected = true;
    outbox.pump();
    await answer(1, new RunnelError("Unavailable", "setAttr", "Not now."));
    await clock.advance(2_000);
    await settle();
    expect(requests().map(([n]) => n)).toEqual([1, 1]);
  });

  test("fails when it is on its way, waits then, and the rest is not tried later for that", async () => {
    outbox.add(save(1, 5), save(2, 6));
    await settle();
    paused.add(1);
    outbox.pausesChanged();
    await answer(1, new RunnelError("Unreachable", "write", "Paused."));
    outbox.add(change(3, [7]));
    await settle();
    expect(requests().map(([n]) => n)).toContain(3);
    for (const n of [2, 3]) await answer(n);
    paused.clear();
    outbox.pausesChanged();
    await settle();
    expect(requests().filter(([n]) => n === 1)).toHaveLength(2);
  });

  test("is counted no more when a person gives it up, nor does it hold anything up", async () => {
    paused.add(1);
    const given = save(1, 5, 100);
    outbox.add(given, change(2, [5]));
    await settle();
    expect([requests(), outbox.bytes]).toEqual([[], 100]);
    given.state = "settled";
    outbox.pump();
    await settle();
    expect([requests().map(([n]) => n), outbox.bytes, outbox.size]).toEqual([[2], 0, 1]);
  });
});

describe("who waits for some of what is to be sent", () => {
  const isOf =
    (node: number) =>
    (queued: Queued): boolean =>
      isSave(queued) ? queued.node === node : queued.nodes.includes(node);

  test("waits for that and what it comes after, not for what is added later, nor for what is paused", async () => {
    paused.add(4);
    outbox.add(change(1, [5]), change(2, [6]), change(3, [5]), change(4, [6]));
    let isSent = false;
    void outbox.sent(isOf(6)).then(() => (isSent = true));
    outbox.add(change(5, [6]));
    await settle();
    expect(isSent).toBe(false);
    await answer(1);
    expect(isSent).toBe(false);
    await answer(2);
    expect([isSent, outbox.some(isOf(6)), outbox.some(isOf(5)), outbox.some(isOf(7))]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test("waits for nothing where there is nothing, and for what is expected until it is here", async () => {
    await outbox.sent(() => true);
    const expected = outbox.expect();
    let isSent = false;
    void outbox.sent(isOf(5)).then(() => (isSent = true));
    await settle();
    outbox.add(change(1, [5]));
    expected[Symbol.dispose]();
    await settle();
    expect(isSent).toBe(false);
    await answer(1);
    expect(isSent).toBe(true);
  });

  test("does not wait for a file to be closed, and hears that the server is full", async () => {
    const open = { ...save(1, 5), file: 9 };
    outbox.add(open);
    await settle();
    expect(asked).toEqual([]);
    const sent = outbox.sent(isOf(5));
    await settle();
    expect(requests()).toEqual([[1, []]]);
    const full = new RunnelError("NoSpace", "write", "The server is full.");
    await Promise.all([expect(sent).rejects.toBe(full), answer(1, full)]);
  });
});

test.each([
  ["that are small", 10, 256],
  ["that have files open meanwhile", 100_000, 32],
])(
  "of contents %s (%i bytes) %i are on their way at once, and the next goes when one has been answered",
  async (_title, sizeBytes, most) => {
    outbox.add(...Array.from({ length: most + 2 }, (_, at) => save(at + 1, at + 10, sizeBytes)));
    await settle();
    expect(prepared.size).toBe(most);
    await waitForAsked(1);
    asked[0]?.answer.resolve();
    await waitForAsked(most + 1);
    expect(prepared.size).toBe(most + 1);
  },
);

/** Each comes after the one before it. */
async function waitForAsked(count: number): Promise<void> {
  for (let turn = 0; asked.length < count && turn < 1000; turn++) await settle();
  expect(asked.length).toBeGreaterThanOrEqual(count);
}
