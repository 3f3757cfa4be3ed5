// Changes of names and attributes on their way: their numbers, their order, and lines that break meanwhile.
import { describe, expect, test } from "@jest/globals";
import { LIMITS, RunnelError, SimulatedClock } from "@runnel/shared";
import { OwnChanges } from "../../src/agent/changes/own-changes.ts";
import { Operations } from "../../src/agent/wire/operations.ts";

interface Asked {
  n: number;
  received: number;
  answer(): void;
  refuse(kind: ConstructorParameters<typeof RunnelError>[0]): void;
}

class Rig {
  readonly asked: Asked[] = [];
  readonly reported: unknown[] = [];
  readonly session = {
    mayOnlyRead: false,
    isResponsive: true,
    nowMs: 0,
    leftMs: () => this.leftMs,
    responsive: async () => undefined,
    withRequestTimeout: <T>(answer: Promise<T>): Promise<T> => answer,
    call: async (_name: string, { n, received }: { n: number; received: number }) => {
      const { promise, resolve, reject } = Promise.withResolvers<object>();
      const refuse = (kind: ConstructorParameters<typeof RunnelError>[0]): void =>
        reject(new RunnelError(kind, "test", "It is refused."));
      this.asked.push({ n, received, answer: () => resolve({ seq: n }), refuse });
      return promise;
    },
  };
  readonly changes: OwnChanges;
  readonly operations: Operations;
  leftMs = 1000;

  constructor() {
    let next = 1;
    this.changes = new OwnChanges({ instance: "", nextNumber: () => next++, ending: () => [] });
    this.operations = new Operations({
      session: this.session as never,
      changes: this.changes,
      clock: new SimulatedClock(),
      answered: (error) => this.reported.push(error),
    });
  }

  change(): Promise<unknown> {
    return this.operations.change("setAttr", {}, [[3, "a", 5]]);
  }
}

async function turns(): Promise<void> {
  await new Promise((next) => setImmediate(next));
}

describe("a change", () => {
  test("has the next number and its names until it is answered, and says what has been received", async () => {
    const rig = new Rig();
    const [first, second] = [rig.change(), rig.change()];
    await turns();
    expect(rig.asked).toMatchObject([
      { n: 1, received: 0 },
      { n: 2, received: 0 },
    ]);
    rig.asked[0]?.answer();
    expect(await first).toEqual({ seq: 1 });
    expect(rig.changes.isOwnName(3, "a", 5)).toBe(true);
    rig.asked[1]?.refuse("Denied");
    await expect(second).rejects.toMatchObject({ kind: "Denied" });
    expect(rig.changes.isOwnName(3, "a", 5)).toBe(false);
    expect(rig.reported).toEqual([undefined, expect.objectContaining({ kind: "Denied" })]);
    expect(rig.changes.received).toEqual({ received: 2 });
  });

  test("is sent again under its number when the line broke, until the request timeout is over", async () => {
    const rig = new Rig();
    const change = rig.change();
    for (const [attempt, leftMs] of [1000, 500, 0].entries()) {
      await turns();
      expect(rig.asked.map(({ n }) => n)).toEqual(Array.from({ length: attempt + 1 }, () => 1));
      rig.leftMs = leftMs;
      rig.asked[attempt]?.refuse("Unreachable");
    }
    await expect(change).rejects.toMatchObject({ kind: "Unreachable" });
    expect(rig.changes.received).toEqual({ received: 1 });
  });

  test("waits its turn when many are under way, and takes its number before", async () => {
    const rig = new Rig();
    const max = LIMITS.channels / 2;
    const all = Array.from({ length: max + 2 }, () => rig.change());
    await turns();
    expect(rig.operations.isCrowded).toBe(true);
    expect(rig.asked).toHaveLength(max);
    rig.asked[7]?.answer();
    rig.asked[3]?.answer();
    await turns();
    expect(rig.asked.slice(max).map(({ n }) => n)).toEqual([max + 1, max + 2]);
    for (const { answer } of rig.asked) answer();
    await Promise.all(all);
    expect(rig.operations.isCrowded).toBe(false);
  });

  test("takes no number offline, and where this device may only read", async () => {
    const rig = new Rig();
    rig.session.isResponsive = false;
    await expect(rig.change()).rejects.toMatchObject({ kind: "ReadOnly" });
    Object.assign(rig.session, { isResponsive: true, mayOnlyRead: true });
    await expect(rig.change()).rejects.toMatchObject({ kind: "ReadOnly" });
    rig.session.mayOnlyRead = false;
    void rig.change();
    await turns();
    expect(rig.asked).toMatchObject([{ n: 1 }]);
  });
});
