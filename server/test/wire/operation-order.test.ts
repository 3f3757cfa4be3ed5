// Operations that name others to be executed after.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, encodeRecipe } from "@runnel/shared";
import { OperationOrder } from "../../src/wire/operation-order.ts";
import { WireRig, instanceOf, kindOf } from "./wire-rig.ts";
import type { Attached } from "./wire-rig.ts";

let wire: WireRig;
let one: Attached;

beforeEach(async () => {
  wire = await WireRig.open(5);
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

describe("an operation after others", () => {
  test("[W29] goes on when one of them turns out to have been executed before", async () => {
    const order = new OperationOrder({ result: async () => undefined }, instanceOf("1"));
    const answered = Promise.withResolvers<void>();
    const first = order.run({ n: 1, received: 0 }, () => answered.promise);
    const second = order.run({ n: 2, received: 0, after: [1] }, async ({ before }) => before);
    answered.resolve();
    await first;
    await second;
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
    // Also one that comes once it has been answered.
    const late = one.change("setAttr", { node: there, change: { mode: 0o600 }, after: [10] }, 13);
    expect(await kindOf(late)).toBe("Exists");
  });

  test("[W29] of another connection goes on when those were executed; one never asked for, or a later one, is Invalid", async () => {
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
