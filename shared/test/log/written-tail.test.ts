import { expect, test } from "@jest/globals";
import { WrittenTail } from "../../src/log/written-tail.ts";

const KIB = 1024;

function filled(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

test("what was written last is read from memory, and changing it changes nothing", () => {
  const tail = new WrittenTail();
  tail.add(3, 100, Uint8Array.of(1, 2, 3, 4));
  tail.add(3, 104, Uint8Array.of(5, 6));
  tail.add(4, 100, Uint8Array.of(7, 8));
  tail.read(3, 101, 2)?.fill(0);
  expect(tail.read(3, 101, 2)).toEqual(Uint8Array.of(2, 3));
  expect(tail.read(3, 104, 2)).toEqual(Uint8Array.of(5, 6));
  expect(tail.read(4, 101, 1)).toEqual(Uint8Array.of(8));
});

test("what lies before it, behind it, in two writes or in a segment that was dropped is not", () => {
  const tail = new WrittenTail();
  tail.add(3, 100, Uint8Array.of(1, 2, 3, 4));
  tail.add(3, 104, Uint8Array.of(5, 6));
  for (const [offset, length] of [
    [99, 1],
    [106, 1],
    [103, 2],
    [105, 2],
  ] as const)
    expect(tail.read(3, offset, length)).toBeUndefined();
  expect(tail.read(2, 100, 1)).toBeUndefined();
  tail.dropBefore(4);
  expect(tail.read(3, 100, 1)).toBeUndefined();
});

test("half a megabyte is kept, the newest of it, and nothing of a longer write", () => {
  const tail = new WrittenTail();
  for (let at = 0; at < 6; at++) tail.add(1, at * 100 * KIB, filled(100 * KIB, at));
  expect(tail.read(1, 0, 1)).toBeUndefined();
  for (let at = 1; at < 6; at++) expect(tail.read(1, at * 100 * KIB, 1)).toEqual(filled(1, at));
  tail.add(2, 0, filled(513 * KIB, 9));
  expect(tail.read(2, 0, 1)).toBeUndefined();
});
