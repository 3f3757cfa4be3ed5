// Node ids in reserve: none is given twice, whatever ends the process, and none of another epoch.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { NodeReserve, RESERVED_MIN } from "../../src/agent/changes/node-reserve.ts";
import type { Journal } from "../../src/agent/journal/journal.ts";
import { JournalMachine } from "../journal/journal-machine.ts";

const EPOCH = "e".repeat(32);
let asked = 0;

function reserveOf(journal: Journal, isConnected = true): NodeReserve {
  return new NodeReserve({
    journal,
    ask: async (count) => {
      if (!isConnected) throw new RunnelError("Unreachable", "newNodes", "There is no line.");
      return [1 + 2_000_000 * ++asked, count];
    },
  });
}

test("[F142] what may have been given is not given again after a power cut, and it is filled before a million are gone", async () => {
  const machine = new JournalMachine();
  let journal = await machine.open();
  let reserve = reserveOf(journal);
  expect(await reserve.take(EPOCH)).toBeUndefined();
  await reserve.fill(EPOCH);
  const [first = 0, count = 0] = (await reserve.take(EPOCH)) ?? [];
  expect(count).toBeGreaterThan(1000);
  await machine.cutPower();
  journal = await machine.open();
  reserve = reserveOf(journal, false);
  expect(await reserve.take(EPOCH)).toEqual([first + count, count]);
  await reserve.fill(EPOCH);
  let taken = 2 * count;
  for (let range = await reserve.take(EPOCH); range !== undefined; range = await reserve.take(EPOCH)) taken += range[1];
  expect(taken).toBeGreaterThanOrEqual(RESERVED_MIN);
  await expect(reserve.fill(EPOCH)).rejects.toMatchObject({ kind: "Unreachable" });
  await reserveOf(journal).fill(EPOCH);
  expect((await reserve.take(EPOCH))?.[0]).toBe(1 + 2_000_000 * asked);
});

test("[F142] ids of another epoch mean nothing", async () => {
  const journal = await new JournalMachine().open();
  const reserve = reserveOf(journal);
  await reserve.fill(EPOCH);
  expect(await reserve.take("f".repeat(32))).toBeUndefined();
  await reserve.fill("f".repeat(32));
  expect(await reserve.take("f".repeat(32))).toBeDefined();
});
