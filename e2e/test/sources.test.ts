// Reading files through a drive that has other sources of chunks than its server: what crosses the line then.
import { constants } from "node:fs";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type ChunkRun, type ChunkSpan, MemoryChunks, type WantedContent } from "@runnel/app/internals";
import { inlineExecutor } from "@runnel/native";
import { chunkOffsets, presetFor, sleep } from "@runnel/shared";
import { SimulatedPlace, noiseOf } from "../src/simulation/index.ts";

const MiB = 1024 * 1024;
const LARGE = noiseOf(1, 6 * MiB);
const REQUEST_BYTES = 128 * 1024;
const BYTES_PER_SECOND = 200_000;
const SILENCE_MS = 2_000;
/** Descriptors of 6 MiB, and what is said around them. */
const LITTLE_BYTES = 60_000;

let place: SimulatedPlace;

beforeEach(async () => {
  place = new SimulatedPlace(1, { delayMs: 15, bytesPerSecond: BYTES_PER_SECOND });
  await place.open({ large: LARGE });
});

afterEach(() => place.close());

/** A stick with those chunks of the file that `has` says. */
async function stickWith(has: (index: number) => boolean, stick = new MemoryChunks("stick", "a stick")) {
  const recipe = await inlineExecutor().chunkBytes(LARGE, presetFor(LARGE.length));
  const offsets = chunkOffsets(recipe);
  const content = { version: { node: 0, seq: 0 }, sizeBytes: LARGE.length, recipe };
  let bytes = 0;
  for (const from of recipe.lengths.keys()) {
    if (!has(from)) continue;
    const run = { from, count: 1, bytes: LARGE.subarray(offsets[from], offsets[from + 1]) };
    await stick.put(content, run);
    bytes += run.bytes.length;
  }
  return { stick, bytes };
}

/** Reads the file as the kernel does. @returns what it brought over the line. */
async function readAll(): Promise<number> {
  const { receivedBytes } = place.line;
  const program = place.drive.program();
  const fd = await place.run(program.open("large", constants.O_RDONLY));
  for (let at = 0; at < LARGE.length; at += REQUEST_BYTES) {
    const bytes = await place.run(program.read(fd, at, REQUEST_BYTES));
    expect(Buffer.compare(bytes, LARGE.subarray(at, at + REQUEST_BYTES))).toBe(0);
  }
  await place.run(program.close(fd));
  return place.line.receivedBytes - receivedBytes;
}

test("what a source has does not cross the line", async () => {
  const { stick } = await stickWith(() => true);
  place.mount.sources.add(stick);
  expect(await readAll()).toBeLessThan(LITTLE_BYTES);
});

test("what it lacks comes from the server, and nothing twice", async () => {
  const { stick, bytes } = await stickWith((index) => index % 3 !== 0);
  place.mount.sources.add(stick);
  expect(await readAll()).toBeLessThan(LARGE.length - bytes + 2 * LITTLE_BYTES);
});

test("a file that was opened before the line broke is read from a source that has it", async () => {
  let asked = 0;
  class Counting extends MemoryChunks {
    override get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
      asked += spans.reduce((sum, { count }) => sum + count, 0);
      return super.get(content, spans, signal);
    }
  }
  const { stick } = await stickWith(() => true, new Counting("stick", "a stick"));
  place.mount.sources.add(stick);
  const program = place.drive.program();
  const fd = await place.run(program.open("large", constants.O_RDONLY));
  await place.run(program.read(fd, 0, REQUEST_BYTES));
  place.line.takeDown();
  expect(asked).toBeLessThan(50);
  for (let at = 0; at < LARGE.length; at += REQUEST_BYTES) {
    const bytes = await place.run(program.read(fd, at, REQUEST_BYTES));
    expect(Buffer.compare(bytes, LARGE.subarray(at, at + REQUEST_BYTES))).toBe(0);
  }
  place.line.restore();
  await place.run(program.close(fd));
});

test("without one nothing changes", async () => {
  const received = await readAll();
  expect(received).toBeGreaterThan(LARGE.length);
  expect(received).toBeLessThan(LARGE.length + 4 * LITTLE_BYTES);
});

test("one that turns up while a file comes brings the rest", async () => {
  const { stick } = await stickWith(() => true);
  const before = place.line.receivedBytes;
  const received = (): number => place.line.receivedBytes - before;
  await place.run(place.mount.pin(""));
  await place.until(async () => received() > LARGE.length / 4);
  place.mount.sources.add(stick);
  await place.until(async () => (await place.mount.status(false)).pins[0]?.isComplete === true);
  // More comes than that quarter: what the server had sent by then.
  expect(received()).toBeLessThan((LARGE.length * 3) / 4);
});

test("what a program reads comes before what a pin brings, of a source that is slow", async () => {
  const brought: number[] = [];
  let turn = Promise.resolve();
  class Slow extends MemoryChunks {
    override async *get(
      content: WantedContent,
      spans: readonly ChunkSpan[],
      signal: AbortSignal,
    ): AsyncGenerator<ChunkRun> {
      for await (const run of super.get(content, spans, signal)) {
        turn = turn.then(() => sleep(place.clock, 50));
        await turn;
        brought.push(run.from);
        yield run;
      }
    }
  }
  const { stick } = await stickWith(() => true, new Slow("stick", "a stick"));
  place.mount.sources.add(stick);
  await place.run(place.mount.pin(""));
  await place.until(async () => brought.length > 20);
  const program = place.drive.program();
  const fd = await place.run(program.open("large", constants.O_RDONLY));
  const [before, at] = [brought.length, LARGE.length - REQUEST_BYTES];
  const bytes = await place.run(program.read(fd, at, REQUEST_BYTES));
  expect(Buffer.compare(bytes, LARGE.subarray(at))).toBe(0);
  // The pin had asked for two pieces, and a chunk of each was on its way.
  const [first = 0] = brought.slice(before).toSorted((one, other) => other - one);
  const ofPin = brought.slice(before).filter((index) => index < first - REQUEST_BYTES / 1024);
  expect(ofPin.length).toBeLessThanOrEqual(3);
  expect(brought.slice(before).length - ofPin.length).toBeGreaterThan(5);
  await place.run(program.close(fd));
  await place.until(async () => (await place.mount.status(false)).pins[0]?.isComplete === true);
});

test("one that lies is named, and what it says is not shown", async () => {
  class Liar extends MemoryChunks {
    override readonly mayRot = false as unknown as true;
    override async *get(
      content: WantedContent,
      spans: readonly ChunkSpan[],
      signal: AbortSignal,
    ): AsyncGenerator<ChunkRun> {
      for await (const run of super.get(content, spans, signal))
        yield { ...run, bytes: run.bytes.map((byte) => byte ^ 1) };
    }
  }
  const { stick } = await stickWith(() => true, new Liar("colleague", "desk-7"));
  place.mount.sources.add(stick);
  expect(await readAll()).toBeGreaterThan(LARGE.length);
  const { problems } = await place.mount.status(false);
  expect(problems).toEqual(["desk-7 sent what it was not asked for: it is not asked any more."]);
});

test("a source that stalls holds a reader up once, for a silence", async () => {
  let asked = 0;
  class Stalled extends MemoryChunks {
    override get(): AsyncGenerator<ChunkRun> {
      asked++;
      const never = new Promise<never>(() => undefined);
      return { next: () => never, return: () => never, throw: () => never } as unknown as AsyncGenerator<ChunkRun>;
    }
  }
  const { stick } = await stickWith(() => true, new Stalled("stick", "a stick"));
  place.mount.sources.add(stick);
  const beganMs = place.clock.bootMs();
  expect(await readAll()).toBeGreaterThan(LARGE.length);
  expect(place.clock.bootMs() - beganMs).toBeLessThan((1.2 * LARGE.length * 1000) / BYTES_PER_SECOND + 2 * SILENCE_MS);
  // Two pieces at once, and none after that.
  expect(asked).toBeLessThanOrEqual(2);
});
