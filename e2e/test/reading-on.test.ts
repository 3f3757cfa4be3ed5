// Programs that read large files for the first time, on simulated lines: one that reads on beside one that reads here
// and there, and what is done with a file of which only a part is here.
import { constants } from "node:fs";
import type { Program } from "@runnel/native/drive";
import { afterEach, describe, expect, test } from "@jest/globals";
import { SimulatedPlace, noiseOf } from "../src/simulation/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const READ_BYTES = 4 * KiB;
const REQUEST_BYTES = 128 * KiB;
const LARGE = noiseOf(1, 6 * MiB);
const OTHER = noiseOf(2, 5 * MiB);

let place: SimulatedPlace;
let program: Program;

afterEach(() => place.close());

async function open(line: { delayMs: number; bytesPerSecond: number }): Promise<void> {
  place = new SimulatedPlace(1, line);
  await place.open({ large: LARGE, other: OTHER });
  program = place.drive.program();
}

async function opened(path: string, flags = constants.O_RDONLY): Promise<number> {
  return place.run(program.open(path, flags));
}

/**
 * Reads a file in order, as the kernel does, `upTo` at most, two requests at a time; true when it is what it should be.
 */
async function readOn(fd: number, content: Uint8Array, upTo: number): Promise<boolean> {
  for (let at = 0; at < Math.min(upTo, content.length); at += 2 * REQUEST_BYTES) {
    const both = [at, at + REQUEST_BYTES].map((offset) => program.read(fd, offset, REQUEST_BYTES));
    const bytes = Buffer.concat(await Promise.all(both));
    if (Buffer.compare(bytes, content.subarray(at, at + 2 * REQUEST_BYTES)) !== 0) return false;
  }
  return true;
}

describe("on a slow line", () => {
  const LINE = { delayMs: 15, bytesPerSecond: 200_000 };

  test("[W142] what a program asks for goes ahead of what is read ahead for another one, of another file and of the same", async () => {
    await open(LINE);
    const [one, other] = [await opened("large"), await opened("other")];
    let hasEnded = false;
    const reading = readOn(one, LARGE, 3 * MiB).finally(() => (hasEnded = true));
    for (const [fd, content, offset] of [
      [other, OTHER, 2 * MiB],
      [one, LARGE, 5 * MiB],
      [other, OTHER, 4 * MiB],
    ] as const) {
      // Far more is on its way for the first program than the line carries in a second.
      await place.clock.advance(3_000);
      expect(hasEnded).toBe(false);
      const beganMs = place.clock.bootMs();
      const bytes = await place.run(program.read(fd, offset, READ_BYTES));
      expect(Buffer.compare(bytes, content.subarray(offset, offset + READ_BYTES))).toBe(0);
      // Two chunks of the longest, behind what the line has taken in already.
      expect(place.clock.bootMs() - beganMs).toBeLessThan(1_000);
    }
    expect(await place.run(reading)).toBe(true);
    for (const fd of [one, other]) await place.run(program.close(fd));
  });

  test("who closes a file that it read on in gets no more of it", async () => {
    await open(LINE);
    const fd = await opened("large");
    expect(await place.run(readOn(fd, LARGE, MiB))).toBe(true);
    await place.run(program.close(fd));
    await place.clock.advance(500);
    const { receivedBytes } = place.line;
    await place.clock.advance(20_000);
    expect(place.line.receivedBytes - receivedBytes).toBeLessThan(10 * KiB);
    expect(receivedBytes).toBeLessThan(2 * MiB);
  });
});

test("a program that reads all of a file in order has it at the rate of the line, hardly any of it twice, and then its recipe", async () => {
  const line = { delayMs: 50, bytesPerSecond: 4_000_000 };
  await open(line);
  const fd = await opened("large");
  const [before, beganMs] = [place.line.receivedBytes, place.clock.bootMs()];
  expect(await place.run(readOn(fd, LARGE, LARGE.length))).toBe(true);
  const tookMs = place.clock.bootMs() - beganMs;
  expect(place.line.receivedBytes - before).toBeLessThan(1.03 * LARGE.length);
  // Until a line of unknown rate is full it takes some round trips.
  expect(tookMs).toBeLessThan(1.1 * ((1000 * LARGE.length) / line.bytesPerSecond) + 12 * line.delayMs);
  await place.run(program.close(fd));
});

test("[F140] an edit of a file of which a part was read brings its recipe and what lies around the edit, and sends what differs", async () => {
  await open({ delayMs: 5, bytesPerSecond: 100_000_000 });
  const at = 3 * MiB;
  const fd = await opened("large", constants.O_RDWR);
  // The same place, and another one.
  for (const offset of [at - 64 * KiB, at, MiB]) await place.run(program.read(fd, offset, REQUEST_BYTES));
  const [uploaded, received] = [place.line.uploadedBytes, place.line.receivedBytes];
  await place.run(program.write(fd, at + 10, Buffer.from("edited")));
  await place.run(program.close(fd));
  expect(place.line.uploadedBytes - uploaded).toBeLessThan(64 * KiB);
  expect(place.line.receivedBytes - received).toBeLessThan(256 * KiB);
  const expected = Buffer.from(LARGE);
  expected.write("edited", at + 10);
  const again = await opened("large");
  expect(await place.run(readOn(again, expected, expected.length))).toBe(true);
  await place.run(program.close(again));
});
