// Answers to a server that asks for bytes of a version once more.
import { expect, test } from "@jest/globals";
import { LIMITS, SimulatedClock } from "@runnel/shared";
import { Supply } from "../../src/agent/wire/supply.ts";

const MiB = 1024 * 1024;
const VERSION = { node: 5, seq: 7 };

function open(isHere = true): {
  clock: SimulatedClock;
  connection: { isOpen: boolean; link: { bufferedBytes: number } };
  sent: unknown[][];
  reads: number[];
  supply: Supply;
} {
  const clock = new SimulatedClock();
  const connection = { isOpen: true, link: { bufferedBytes: 0 } };
  const sent: unknown[][] = [];
  const reads: number[] = [];
  const feed = { send: (item: unknown) => void sent.push(item as unknown[]) };
  const read = async (_version: unknown, offset: number, length: number): Promise<Uint8Array | undefined> => {
    reads.push(offset);
    return isHere ? new Uint8Array(length) : undefined;
  };
  return { clock, connection, sent, reads, supply: new Supply({ clock, connection, feed, read }) };
}

test("[W160] [limit lackedBytes] a server that asks for more than 64 MiB of a version gets nothing", async () => {
  const { clock, reads, supply } = open(false);
  supply.ask(VERSION, [
    [0, LIMITS.lackedBytes - 1],
    [0, 1],
  ]);
  expect(() => supply.ask(VERSION, [[0, Number.MAX_SAFE_INTEGER]])).toThrow("too much of a version");
  expect(() => supply.ask(VERSION, [[0, LIMITS.lackedBytes + 1]])).toThrow("too much of a version");
  await clock.advance(10);
  expect(reads).toHaveLength(1025);
});

test("[W160] pieces wait until the line has taken those before", async () => {
  const { clock, connection, sent, reads, supply } = open();
  connection.link.bufferedBytes = MiB;
  supply.ask(VERSION, [[0, MiB]]);
  await clock.advance(1000);
  expect([sent.length, reads.length]).toEqual([1, 1]);
  connection.link.bufferedBytes = 0;
  await clock.advance(1000);
  expect(sent).toHaveLength(17);
  expect(sent.at(-1)).toEqual(["haveNot", [5, 7]]);
});

test("[W160] [limit lacks] one question is answered after another, and of 1,024 that wait no more are taken", async () => {
  const { clock, connection, sent, supply } = open();
  connection.link.bufferedBytes = MiB;
  for (let count = 0; count < LIMITS.lacks; count++) supply.ask(VERSION, [[0, 1]]);
  await clock.advance(1000);
  expect(sent).toHaveLength(1);
  expect(() => supply.ask(VERSION, [[0, 1]])).toThrow("asks on without waiting");
  connection.link.bufferedBytes = 0;
  await clock.advance(1000);
  expect(sent).toHaveLength(2 * LIMITS.lacks);
  supply.ask(VERSION, [[0, 1]]);
});

test("nothing more is read for a connection that has ended", async () => {
  const { clock, connection, reads, supply } = open(false);
  supply.ask(VERSION, [[0, 64 * MiB]]);
  connection.isOpen = false;
  await clock.advance(10);
  expect(reads).toEqual([]);
});
