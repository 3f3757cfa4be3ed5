// Operations that name others to be executed after.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, RunnelError, encodeRecipe, sleep } from "@runnel/shared";
import { FailedOperations, OperationOrder } from "../../src/wire/operation-order.ts";
import { ServerRig, instanceOf, kindOf } from "./server-rig.ts";
import type { Attached } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;

beforeEach(async () => {
  wire = await ServerRig.open(5);
  one = await (await wire.greeted()).attach(instanceOf("1"));
});

afterEach(() => wire.close());

async function small(text: string): Promise<{ sizeBytes: number; items: unknown[] }> {
  const bytes = Buffer.from(text);
  const recipe = await wire.rig.executor.chunkBytes(bytes);
  const oid = await wire.rig.executor.digest([encodeRecipe(recipe)]);
  const data = ["d", "raw", bytes.length, bytes];
  return { sizeBytes: bytes.length, items: [data, ["e", oid]] };
}

const WRITE = { base: 0, attributes: {}, isResumed: false };

test("[W29] of failures as many are remembered for all attachments of a device as for one, and each its own", async () => {
  const failures = new FailedOperations();
  const meta = { result: async () => undefined };
  const [first, other] = [new OperationOrder(meta, "i", failures), new OperationOrder(meta, "i", failures)];
  const fail = (order: OperationOrder, n: number): Promise<string> =>
    kindOf(
      order.run({ n, received: 0 }, async () => {
        throw new RunnelError("Exists", "make", "The name is taken.");
      }),
    );
  const after = (order: OperationOrder): Promise<string> =>
    kindOf(order.run({ n: 9000, received: 0, after: [5000] }, async ({ before }) => before));
  for (let n = 1; n <= 3000; n++) await fail(first, n);
  await fail(other, 5000);
  expect([await after(first), await after(other)]).toEqual(["Invalid", "Exists"]);
  for (let n = 1; n <= 3000; n++) await fail(other, n);
  expect(failures.size).toBe(4096);
});

describe("an operation after others", () => {
  test("[W29] goes on when one of them turns out to have been executed before", async () => {
    const order = new OperationOrder({ result: async () => undefined }, instanceOf("1"));
    const answered = Promise.withResolvers<void>();
    const result = { node: 7, seq: 5, version: 4, conflict: false };
    const first = order.run({ n: 1, received: 0 }, async ({ executed }) => {
      await answered.promise;
      executed(result);
    });
    const second = order.run({ n: 2, received: 0, after: [1] }, async ({ before, executed }) => {
      executed(result);
      return before;
    });
    answered.resolve();
    await first;
    const results = await second;
    expect([results.node(-1), results.version(-1), results.node(9)]).toEqual([7, 4, 9]);
  });

  test("[W29] is sent without waiting for their answers: a folder, a file in it and its content in one round trip", async () => {
    const [folder, file] = [one.newNode(), one.newNode()];
    const content = await small("deep inside");
    const startMs = wire.rig.clock.bootMs();
    const answers = Promise.all([
      one.start("make", { folder: ROOT_NODE, name: "d", node: folder, attributes: one.attributes("folder") }, 1),
      one.start("make", { folder, name: "f", node: file, attributes: one.attributes("file"), after: [1] }, 2),
      one.start("write", { ...WRITE, ...content, node: file, after: [2] }, 3),
    ]);
    await wire.rig.run(answers);
    // The line has 5 ms each way.
    expect(wire.rig.clock.bootMs() - startMs).toBeLessThan(20);
    await wire.rig.settle();
    expect(Buffer.from(await wire.rig.readFile("d/f")).toString()).toBe("deep inside");
  });

  test("[W29] is executed after them, however long they take", async () => {
    const { queue } = wire.rig.volume as unknown as { queue: { submit(submission: object): Promise<unknown> } };
    const submit = queue.submit.bind(queue);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    queue.submit = async (submission) => {
      if ((submission as { operation: { name?: string } }).operation.name === "slow") await held;
      return submit(submission);
    };
    const slow = one.start("make", {
      folder: ROOT_NODE,
      name: "slow",
      node: one.newNode(),
      attributes: one.attributes("file"),
    });
    const quick = one.startMake(ROOT_NODE, "quick").made;
    const after = one.start("make", {
      folder: ROOT_NODE,
      name: "after",
      node: one.newNode(),
      attributes: one.attributes("file"),
      after: [1],
    });
    await wire.rig.run(quick);
    await wire.rig.clock.advance(1_000);
    expect(await wire.rig.volume.meta.lookup(ROOT_NODE, "after")).toBeUndefined();
    release();
    const [{ seq: first }, { seq: second }] = await wire.rig.run(Promise.all([slow, after]));
    expect(second).toBeGreaterThan(first);
  });

  test("[W29] is made durable together with them, however many there are; what comes after a failure is not done", async () => {
    const nodes = [await one.make(ROOT_NODE, "a"), await one.make(ROOT_NODE, "b")];
    await wire.rig.settle();
    const { log } = wire.rig.volume as unknown as { log: { append(records: Uint8Array[]): Promise<unknown> } };
    const append = log.append.bind(log);
    let syncs = 0;
    log.append = async (records) => {
      syncs++;
      await sleep(wire.rig.clock, 5);
      return append(records);
    };
    const chain = Array.from({ length: 60 }, (_, index) => {
      const n = 10 + index;
      const after = index === 0 ? [] : [n - 1];
      if (index !== 40) return one.start("setAttr", { node: nodes[0], change: { mode: n }, after }, n);
      const taken = { folder: ROOT_NODE, name: "b", node: one.newNode(), attributes: one.attributes("file") };
      return one.start("make", taken, n);
    });
    const outcomes = await wire.rig.run(Promise.allSettled(chain));
    const isDone = outcomes.map(({ status }) => status === "fulfilled");
    expect(isDone).toEqual(isDone.map((_, index) => index < 40));
    expect(await wire.rig.volume.meta.node(nodes[0] ?? 0)).toMatchObject({ mode: 49 });
    for (const outcome of outcomes.slice(40))
      expect(outcome).toMatchObject({ reason: { kind: "Exists", detail: { node: nodes[1] } } });
    // The first goes alone, and the others come meanwhile.
    expect(syncs).toBeLessThanOrEqual(3);
    await wire.rig.settle();
  });

  test("[W29] fails with the reason of the one that failed, and so does what is after it; nothing is changed", async () => {
    const there = await one.make(ROOT_NODE, "taken");
    const file = one.newNode();
    const make = { folder: ROOT_NODE, name: "taken", node: file, attributes: one.attributes("file") };
    const outcomes = [
      one.start("make", make, 10),
      one.start("write", { ...WRITE, ...(await small("never")), node: file, after: [10] }, 11),
      one.start("setAttr", { node: there, change: { mode: 0o600 }, after: [11] }, 12),
    ].map((answer) => answer.catch((error: unknown) => error));
    for (const outcome of await wire.rig.run(Promise.all(outcomes)))
      expect(outcome).toMatchObject({ kind: "Exists", detail: { node: there } });
    expect((await wire.rig.volume.meta.node(there))?.mode).toBe(0o644);
    // The same holds for one that comes once it has been answered.
    const late = one.change("setAttr", { node: there, change: { mode: 0o600 }, after: [10] }, 13);
    expect(await kindOf(late)).toBe("Exists");
  });

  test("[W29] [limit operationsAfter] of another connection goes on when those were executed; one never asked for, or a later one, is Invalid", async () => {
    const node = await one.make(ROOT_NODE, "a");
    const again = await (await wire.greeted()).attach(instanceOf("1"));
    const change = { node, change: { mode: 0o600 } };
    expect(await kindOf(again.change("setAttr", { ...change, after: [1] }, 5))).toBe("done");
    expect(await kindOf(again.change("setAttr", { ...change, after: [4] }, 6))).toBe("Invalid");
    expect(await kindOf(again.change("setAttr", { ...change, after: [9] }, 7))).toBe("Invalid");
    expect(await kindOf(again.change("setAttr", { ...change, after: [8] }, 8))).toBe("Invalid");
    const many = Array.from({ length: LIMITS.operationsAfter + 1 }, () => 1);
    expect(await kindOf(again.change("setAttr", { ...change, after: many }, 9))).toBe("Invalid");
  });
});

test("[W190] changes are executed in the order in which they came, whatever each of them has to ask first", async () => {
  const [folder, file] = [one.newNode(), one.newNode()];
  const at = { folder, name: "f", node: file };
  const answers = [
    one.start("make", { folder: ROOT_NODE, name: "d", node: folder, attributes: one.attributes("folder") }),
    one.start("make", { ...at, attributes: one.attributes("file") }),
    one.start("setAttr", { node: file, change: { mode: 0o600 } }),
    one.start("link", { node: file, folder: ROOT_NODE, name: "link" }),
    one.start("rename", { ...at, toFolder: folder, toName: "g", how: "keep" }),
    one.start("remove", { folder: ROOT_NODE, name: "link", node: file, isFolder: false }),
    one.start("remove", { ...at, name: "g", isFolder: false }),
    one.start("remove", { folder: ROOT_NODE, name: "d", node: folder, isFolder: true }),
  ];
  const seqs = (await wire.rig.run(Promise.all(answers))).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((earlier, later) => earlier - later));
  expect(await wire.rig.volume.meta.lookup(ROOT_NODE, "d")).toBeUndefined();
});

test("[limit nodesAtOnce] a client is given as many node ids as it asks for, once, and not more than its limit", async () => {
  const [first, count] = (await one.call("newNodes", { count: LIMITS.nodesAtOnce })) as [number, number];
  expect(count).toBe(LIMITS.nodesAtOnce);
  expect(await one.call("newNodes", { count: 1 })).toEqual([first + count, 1]);
  for (const wrong of [0, LIMITS.nodesAtOnce + 1])
    expect(await kindOf(one.call("newNodes", { count: wrong }))).toBe("Invalid");
});

describe("the result of another operation", () => {
  const make = (name: string, folder: number, type: "file" | "folder" = "file"): { node: number; fields: object } => {
    const node = one.newNode();
    return { node, fields: { folder, name, node, attributes: one.attributes(type) } };
  };

  test("[W63] is a folder that was there: files go into it, and their contents with them, in one round trip", async () => {
    const there = await one.make(ROOT_NODE, "d", "folder");
    const [folder, file] = [make("d", ROOT_NODE, "folder"), make("f", -10)];
    const content = await small("inside");
    const startMs = wire.rig.clock.bootMs();
    const [made, , written] = await wire.rig.run(
      Promise.all([
        one.start("make", folder.fields, 10),
        one.start("make", file.fields, 11),
        one.start("write", { ...WRITE, ...content, node: -11 }, 12),
      ]),
    );
    expect(wire.rig.clock.bootMs() - startMs).toBeLessThan(20);
    expect(made.node).toBe(there);
    expect(written.node).toBe(file.node);
    await wire.rig.settle();
    expect(Buffer.from(await wire.rig.readFile("d/f")).toString()).toBe("inside");
  });

  test("[W63] is a version: a save follows a save that is not answered, without a conflict; other changes name nodes so", async () => {
    const [folder, file] = [make("d", ROOT_NODE, "folder"), make("f", -1)];
    const outcomes = [
      one.start("make", folder.fields, 1),
      one.start("make", file.fields, 2),
      one.start("write", { ...WRITE, ...(await small("first")), node: -2 }, 3),
      one.start("write", { ...WRITE, ...(await small("second")), node: -2, base: -3 }, 4),
      one.start("setAttr", { node: -2, change: { mode: 0o600 } }, 5),
      one.start("link", { node: -2, folder: -1, name: "g" }, 6),
      one.start("rename", { folder: -1, name: "f", node: -2, toFolder: -1, toName: "h", how: "keep" }, 7),
      one.start("remove", { folder: -1, name: "g", node: -2, isFolder: false, after: [6] }, 8),
    ];
    const results = await wire.rig.run(Promise.all(outcomes));
    expect(results.map(({ conflict }) => conflict)).toEqual(results.map(() => false));
    await wire.rig.settle();
    expect(Buffer.from(await wire.rig.readFile("d/h")).toString()).toBe("second");
    expect(await wire.rig.volume.meta.node(file.node)).toMatchObject({ mode: 0o600, nlink: 1 });
    expect((await wire.rig.volume.meta.list(folder.node, "", 10)).map(({ name }) => name)).toEqual(["h"]);
  });

  test("[W63] of one that failed fails with its reason", async () => {
    const taken = await one.make(ROOT_NODE, "taken");
    const refused = [
      one.start("make", make("taken", ROOT_NODE, "folder").fields, 10),
      one.start("make", make("f", -10).fields, 11),
      one.start("write", { ...WRITE, ...(await small("never")), node: -11 }, 12),
    ].map((answer) => answer.catch((error: unknown) => error));
    for (const outcome of await wire.rig.run(Promise.all(refused)))
      expect(outcome).toMatchObject({ kind: "Exists", detail: { node: taken } });
  });

  test("[W63] stands for what it is: repeated with the number itself it is the same request; forgotten, later or never asked for it is Invalid", async () => {
    const folder = make("d", ROOT_NODE, "folder");
    await one.change("make", folder.fields, 1);
    const file = make("f", -1);
    const first = await one.change("make", file.fields, 2);
    expect(await one.change("make", { ...file.fields, folder: folder.node }, 2)).toEqual(first);
    const content = await small("content");
    const opening = { ...WRITE, sizeBytes: content.sizeBytes };
    const written = await one.change("write", { ...opening, items: content.items, node: -2 }, 3);
    const again = await (await wire.greeted()).attach(instanceOf("1"));
    expect(await again.change("write", { ...opening, node: -2, isResumed: true }, 3)).toEqual(written);
    expect(await again.change("write", { ...opening, node: file.node, isResumed: true }, 3)).toEqual(written);
    for (const n of [9, 12]) expect(await kindOf(again.change("make", make("g", -n).fields, 10))).toBe("Invalid");
    await wire.rig.run(wire.rig.volume.meta.forgetResults(instanceOf("1"), 3, []));
    expect(await kindOf(again.change("make", { ...make("g", -1).fields, received: 3 }, 13))).toBe("Invalid");
    expect(await kindOf(again.change("make", { ...make("g", ROOT_NODE).fields, after: [1], received: 3 }, 14))).toBe(
      "done",
    );
  });
});
