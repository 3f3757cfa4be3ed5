// Colleagues as a source of chunks: who has some of it brings that, who lies is asked no more, and what nobody has is
// given back.
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { ChunkRun, ChunkSpan } from "../../src/agent/transfer/sources/chunk-source.ts";
import { MemoryChunks } from "../../src/agent/transfer/sources/memory-chunks.ts";
import { indexesOf } from "@runnel/shared";
import { Offer, type ReadRun } from "../../src/agent/colleagues/offer.ts";
import {
  type WholeContent,
  all,
  runOf,
  sourceContract,
  wholeContent,
} from "../transfer/sources/chunk-source-contract.ts";
import { Office, type Seat } from "./office-rig.ts";

sourceContract(
  "a colleague",
  async (content) => {
    const own = new Office();
    const [laptop, desk] = [await own.seat("laptop"), await own.seat("desk")];
    await laptop.keep(content);
    return { source: desk.colleagues.source, close: () => own.close() };
  },
  { hasOnlyThis: false },
);

let office: Office;

beforeEach(() => {
  office = new Office();
});

afterEach(() => office.close());

/** Chunks that came, and those that were given back. */
async function got(
  seat: Seat,
  content: Awaited<ReturnType<typeof wholeContent>>,
  signal = new AbortController().signal,
): Promise<{ came: Set<number>; givenUp: Set<number> }> {
  const [came, givenUp] = [new Set<number>(), new Set<number>()];
  for await (const run of seat.colleagues.source.get(content, all(content), signal)) {
    if (run.count === 0) continue;
    for (const index of indexesOf([run])) (run.isGivenUp === true ? givenUp : came).add(index);
    if (run.isGivenUp !== true) expect(Buffer.compare(run.bytes, runOf(content, run).bytes)).toBe(0);
  }
  return { came, givenUp };
}

/** The server over a line that takes half a second for each chunk. */
class SlowServer extends MemoryChunks {
  readonly #content: WholeContent;

  constructor(content: WholeContent) {
    super("server", "the server");
    this.#content = content;
  }

  override async *get(_: WholeContent, spans: ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    for (const from of indexesOf(spans)) {
      await setTimeout(500, undefined, { signal });
      yield runOf(this.#content, { from, count: 1 });
    }
  }
}

describe("colleagues as a source", () => {
  test("[W195] give back what the server is to bring", async () => {
    const content = await wholeContent(1);
    const [, desk] = [await office.seat("laptop"), await office.seat("desk")];
    expect(await desk.colleagues.source.locate(content, all(content), new AbortController().signal)).toEqual([]);
    const { came, givenUp } = await got(desk, content);
    expect(came.size).toBe(0);
    expect([...givenUp]).toHaveLength(content.recipe.lengths.length);
  });

  test("go by what the server said a moment ago, and do not ask it before each request", async () => {
    const content = await wholeContent(1, 12_000_000);
    const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
    await laptop.keep(content);
    const { source } = desk.colleagues;
    expect(await source.locate(content, all(content), new AbortController().signal)).toHaveLength(1);
    expect(office.server.locates).toBe(1);
    const { came } = await got(desk, content);
    expect(came.size).toBe(content.recipe.lengths.length);
    // Six requests, and more than a question for each without that.
    expect(office.server.locates).toBeLessThan(4);
  });

  test("ask the server anew when one of them does not have what it was said to have", async () => {
    const content = await wholeContent(1);
    const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
    await laptop.keep(content);
    const { source } = desk.colleagues;
    expect(await source.locate(content, all(content), new AbortController().signal)).toHaveLength(1);
    laptop.isSuspended = true;
    const { came, givenUp } = await got(desk, content);
    expect([came.size, givenUp.size]).toEqual([0, content.recipe.lengths.length]);
    expect(office.server.locates).toBeGreaterThan(1);
  });

  test("[W198] bring what is right, whoever lies, and say by name who does", async () => {
    const content = await wholeContent(1);
    const [honest, liar, desk] = [await office.seat("honest"), await office.seat("liar"), await office.seat("desk")];
    await honest.keep(content);
    await liar.keep(content);
    const { read } = Offer.prototype;
    const { cache } = liar;
    Offer.prototype.read = async function* (this: Offer, ...asked): AsyncGenerator<ReadRun> {
      for await (const run of read.apply(this, asked))
        yield this.isOf(cache) ? { ...run, bytes: run.bytes.map((byte) => byte ^ 1) } : run;
    };
    try {
      // Both are asked at once, whichever first.
      for (let round = 0; round < 10 && desk.problems.length === 0; round++) {
        const { came, givenUp } = await got(desk, content);
        expect(came.size).toBe(content.recipe.lengths.length);
        expect(givenUp.size).toBe(0);
      }
    } finally {
      Offer.prototype.read = read;
    }
    expect(desk.problems).toEqual([`The colleague "liar" sent what it was not asked for: it is not asked any more.`]);
    expect(desk.said).toEqual([]);
  });

  test("[W195] go on with others when one has left, or does not have it any more", async () => {
    const content = await wholeContent(1);
    const [gone, forgetful, desk] = [
      await office.seat("gone"),
      await office.seat("forgetful"),
      await office.seat("desk"),
    ];
    await gone.keep(content);
    await forgetful.keep(content);
    // The server has not heard of it.
    await gone.device.door.close(gone.colleagues.offer);
    await forgetful.cache.evict(0);
    const { came, givenUp } = await got(desk, content);
    expect(came.size).toBe(0);
    expect(givenUp.size).toBe(content.recipe.lengths.length);
  });

  test("are asked by nobody without any", async () => {
    const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
    expect([laptop, desk].map(({ sources }) => sources.mayHave(1_000_000))).toEqual([true, true]);
    laptop.leave();
    expect(desk.sources.mayHave(1_000_000)).toBe(false);
    expect(laptop.sources.mayHave(1_000_000)).toBe(false);
  });

  test("[W198] are passed over when they stall, by name, and others bring the rest", async () => {
    const content = await wholeContent(1);
    const [stalled, honest, desk] = [
      await office.seat("stalled"),
      await office.seat("honest"),
      await office.seat("desk"),
    ];
    await stalled.keep(content);
    await honest.keep(content);
    const { read } = Offer.prototype;
    const { cache } = stalled;
    Offer.prototype.read = async function* (this: Offer, ...asked): AsyncGenerator<ReadRun> {
      if (this.isOf(cache)) await new Promise(() => undefined);
      yield* read.apply(this, asked);
    };
    try {
      // Whichever is asked first may bring all.
      for (let round = 0; round < 20 && desk.said.length === 0; round++) {
        const { came, givenUp } = await got(desk, content);
        expect(came.size + givenUp.size).toBe(content.recipe.lengths.length);
      }
    } finally {
      Offer.prototype.read = read;
    }
    expect(desk.said).toEqual([`The colleague "stalled" stalls: others are asked.`]);
  }, 30_000);

  test("[W198] of whom one stalls: who it is is said, the others go on being asked, and the server is not for long", async () => {
    const content = await wholeContent(1, 3_000_000);
    const [stalled, desk] = [await office.seat("stalled"), await office.seat("desk")];
    const honest = await office.seat("honest");
    for (const seat of [stalled, honest]) await seat.keep(content);
    const { read } = Offer.prototype;
    const { cache } = stalled;
    Offer.prototype.read = async function* (this: Offer, ...asked): AsyncGenerator<ReadRun> {
      if (this.isOf(cache)) await new Promise(() => undefined);
      yield* read.apply(this, asked);
    };
    /** Brings all; the server is slower than anybody. */
    async function brought(): Promise<Map<string, number>> {
      const bytes = new Map<string, number>();
      await desk.sources.bring({
        content,
        spans: all(content),
        isWaitedFor: true,
        server: new SlowServer(content),
        signal: new AbortController().signal,
        take: async (run, { kind }) => void bytes.set(kind, (bytes.get(kind) ?? 0) + run.bytes.length),
      });
      return bytes;
    }
    try {
      // Both are asked at once, unless one brings all before.
      for (let round = 0; round < 20 && desk.said.length === 0; round++) {
        const bytes = await brought();
        expect([...bytes.values()].reduce((sum, some) => sum + some)).toBe(content.sizeBytes);
        expect(bytes.get("server") ?? 0).toBeLessThan(content.sizeBytes / 2);
      }
    } finally {
      Offer.prototype.read = read;
    }
    expect(desk.said).toEqual([`The colleague "stalled" stalls: others are asked.`]);
    expect(desk.sources.mayHave(content.sizeBytes)).toBe(true);
  }, 60_000);

  test("[W195] stop in the middle when nobody wants more", async () => {
    const content = await wholeContent(1);
    const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
    await laptop.keep(content);
    const over = new AbortController();
    const runs: ChunkRun[] = [];
    const reading = (async () => {
      for await (const run of desk.colleagues.source.get(content, all(content), over.signal)) {
        runs.push(run);
        over.abort();
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(runs.length).toBeLessThan(6);
  });
});
