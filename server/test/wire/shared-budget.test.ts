// Budget that connections of a device share, and the order in which they get it.
import { expect, test } from "@jest/globals";
import { SharedBudget } from "../../src/wire/shared-budget.ts";

interface Asked {
  leave: (() => void) | undefined;
}

const ONE = { name: "one" };
const OTHER = { name: "other" };

function asking(room: SharedBudget): (connection: object, amount?: number) => Asked {
  return (connection, amount = 1) => {
    const asked: Asked = { leave: undefined };
    void room.enter(connection, amount).then((leave) => (asked.leave = leave));
    return asked;
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const found = (all: readonly Asked[]): boolean[] => all.map(({ leave }) => leave !== undefined);

test("so much is there at a time, in the order of asking", async () => {
  const ask = asking(new SharedBudget(3));
  const all = Array.from({ length: 5 }, () => ask(ONE));
  const large = ask(ONE, 2);
  const small = ask(ONE);
  await settled();
  expect(found([...all, large, small])).toEqual([true, true, true, false, false, false, false]);
  for (const { leave } of all.slice(0, 3)) leave?.();
  await settled();
  // Behind one for whom there is not enough.
  expect(found([...all, large, small])).toEqual([true, true, true, true, true, false, false]);
  all[3]?.leave?.();
  await settled();
  expect(found([large, small])).toEqual([true, false]);
  large.leave?.();
  await settled();
  expect(found([small])).toEqual([true]);
});

test("one that has nothing of it gets what it asks for, and up to its share; then those that wait take turns", async () => {
  const ask = asking(new SharedBudget(4, 2));
  const ones = Array.from({ length: 10 }, () => ask(ONE));
  await settled();
  expect(found(ones).filter(Boolean)).toHaveLength(4);
  const others = Array.from({ length: 4 }, () => ask(OTHER));
  await settled();
  expect(found(others)).toEqual([true, true, false, false]);
  for (const { leave } of ones.slice(0, 4)) leave?.();
  await settled();
  expect(found(ones).filter(Boolean)).toHaveLength(6);
  expect(found(others)).toEqual([true, true, true, false]);
  for (const { leave } of others.slice(0, 2)) leave?.();
  await settled();
  expect(found(others)).toEqual([true, true, true, true]);
  const large = ask({}, 100);
  await settled();
  expect(found([large])).toEqual([true]);
});

test("what is done there gives its room back, whatever it ends with", async () => {
  const room = new SharedBudget(1);
  await expect(room.run(ONE, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await room.run(ONE, async () => "done")).toBe("done");
});
