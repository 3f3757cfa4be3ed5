// Bringing chunks from several sources: the cheapest first, what is late from another one, what is wrong from
// nobody twice; and whatever the sources do, all comes and is right while the server's does.
import { beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { inlineExecutor } from "@runnel/native";
import { RunnelError, SimulatedClock, indexesOf, joinIndexes, sleep } from "@runnel/shared";
import type {
  ChunkRun,
  ChunkSource,
  ChunkSpan,
  SourceKind,
  WantedContent,
} from "../../../src/agent/transfer/sources/chunk-source.ts";
import { Sources } from "../../../src/agent/transfer/sources/sources.ts";
import { type WholeContent, all, runOf, wholeContent } from "./chunk-source-contract.ts";

const LATE_MS = 2_000;
const LONG = process.env["RUNNEL_LONG"] === "1";
const executor = inlineExecutor();

let clock: SimulatedClock;
let content: WholeContent;
let sources: Sources;
let dropped: string[];
/** Chunks that were taken, by source. */
let taken: Map<string, number[]>;

beforeEach(async () => {
  content = await wholeContent(1);
  begin();
});

function begin(): void {
  clock = new SimulatedClock();
  dropped = [];
  taken = new Map();
  sources = new Sources({
    clock,
    executor,
    lateMs: () => LATE_MS,
    dropped: (_source, sentence) => void dropped.push(sentence),
  });
}

interface Habits {
  kind?: SourceKind;
  has?: (index: number) => boolean;
  /** Time for each chunk. */
  delayMs?: number;
  locateMs?: number;
  mayRot?: boolean;
  isWrong?: (index: number) => boolean;
  /** Fails at a chunk. */
  failsAt?: number;
  /** Says it is on its way before each chunk. */
  isOnItsWay?: boolean;
}

/** A source with such habits; `asked` has what it was asked for. */
class Habitual implements ChunkSource {
  readonly kind: SourceKind;
  readonly name: string;
  readonly mayRot: boolean;
  readonly asked: number[] = [];
  readonly wrongs: number[] = [];
  readonly #habits: Habits;

  constructor(name: string, habits: Habits = {}) {
    this.name = name;
    this.kind = habits.kind ?? "stick";
    this.mayRot = habits.mayRot ?? true;
    this.#habits = habits;
  }

  async locate(_content: WantedContent, spans: readonly ChunkSpan[]): Promise<ChunkSpan[]> {
    const { has = () => true, locateMs = 0 } = this.#habits;
    if (locateMs > 0) await sleep(clock, locateMs);
    return joinIndexes([...indexesOf(spans)].filter(has));
  }

  async *get(_content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    const { delayMs = 0, has = () => true, isWrong = () => false, failsAt, isOnItsWay = false } = this.#habits;
    this.asked.push(...indexesOf(spans));
    for (const from of indexesOf(spans)) {
      for (let waitedMs = 0; waitedMs < delayMs; waitedMs += 500) {
        if (isOnItsWay) yield { from: 0, count: 0, bytes: new Uint8Array(0) };
        await sleep(clock, Math.min(500, delayMs - waitedMs));
        signal.throwIfAborted();
      }
      if (from === failsAt) throw new RunnelError("Unreachable", "get", "The line is cut.");
      if (!has(from)) continue;
      const run = runOf(content, { from, count: 1 });
      yield isWrong(from) ? { ...run, bytes: run.bytes.map((byte) => byte ^ 1) } : run;
    }
  }

  wrong(_content: WantedContent, index: number): void {
    this.wrongs.push(index);
  }
}

/** Brings all; time passes until that ends. */
async function bring(server: ChunkSource, signal = new AbortController().signal, isWaitedFor = true): Promise<void> {
  const bringing = sources.bring({
    content,
    spans: all(content),
    isWaitedFor,
    server,
    signal,
    take: async (run, source) => {
      expect(Buffer.compare(run.bytes, runOf(content, run).bytes)).toBe(0);
      taken.set(source.name, [...(taken.get(source.name) ?? []), ...indexesOf([run])]);
    },
  });
  let isOver = false;
  const over = (): void => void (isOver = true);
  bringing.then(over, over);
  await clock.runUntil(() => isOver, 100_000_000);
  expect(isOver).toBe(true);
  return bringing;
}

function everything(): number[] {
  return [...taken.values()].flat().toSorted((one, other) => one - other);
}

const chunks = (): number[] => [...content.recipe.lengths.keys()];
const theServer = (habits: Habits = {}): Habitual =>
  new Habitual("the server", { kind: "server", mayRot: false, ...habits });

describe("chunks come", () => {
  test("from the cheapest source that has them, from the server only what no other has", async () => {
    const server = theServer();
    sources.add(new Habitual("colleague", { kind: "colleague", has: (index) => index % 2 === 0 }));
    sources.add(new Habitual("folder", { kind: "folder", has: (index) => index % 3 === 0 }));
    await bring(server);
    expect(everything()).toEqual(chunks());
    expect(taken.get("folder")).toEqual(chunks().filter((index) => index % 3 === 0));
    expect(taken.get("colleague")).toEqual(chunks().filter((index) => index % 3 !== 0 && index % 2 === 0));
    expect(server.asked).toEqual(chunks().filter((index) => index % 3 !== 0 && index % 2 !== 0));
    expect(dropped).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("from the server when a source has not said in time what it has, and it is left alone for a minute", async () => {
    const slow = new Habitual("slow", { locateMs: 100_000 });
    sources.add(slow);
    const server = theServer({ delayMs: 1 });
    await bring(server);
    expect(taken.get("the server")).toEqual(chunks());
    expect(dropped).toEqual(["slow does not answer: it is not asked for a minute."]);
    expect(sources.mayHave(content.sizeBytes)).toBe(false);
    await clock.advance(60_000);
    expect(sources.mayHave(content.sizeBytes)).toBe(true);
  });

  test("from another source when they are late, and the first that comes counts", async () => {
    const stalling = new Habitual("stalling", { delayMs: 50_000 });
    sources.add(stalling);
    const server = theServer();
    await bring(server);
    expect(taken.get("the server")).toEqual(chunks());
    expect(dropped).toEqual(["stalling does not answer: it is not asked for a minute."]);
  });

  test("from one that takes long while it says that they are on their way", async () => {
    sources.add(new Habitual("patient", { delayMs: 10_000, isOnItsWay: true, has: (index) => index < 3 }));
    const server = theServer();
    await bring(server);
    expect(taken.get("patient")).toEqual([0, 1, 2]);
    expect(server.asked).toEqual(chunks().slice(3));
    expect(dropped).toEqual([]);
  });

  describe("of a source that is slow", () => {
    const SLOW = { delayMs: 1_500 };
    const bytesOf = (indexes: readonly number[]): number =>
      indexes.reduce((sum, index) => sum + (content.recipe.lengths[index] ?? 0), 0);

    test("from the server, which borrows of it while somebody waits, the last of what it was asked for first", async () => {
      sources.add(new Habitual("slow", SLOW));
      const server = theServer({ delayMs: 10 });
      await bring(server);
      expect(everything()).toEqual(chunks());
      // Some four chunks come before, and while the server shows that it is worth it.
      expect(clock.bootMs()).toBeLessThan(8_000);
      expect(taken.get("slow")?.at(0)).toBe(0);
      expect(taken.get("the server")).toContain(chunks().length - 1);
      expect(new Set(server.asked).size).toBe(server.asked.length);
      expect(dropped).toEqual([]);
    });

    test("from it alone where the server is little faster, but for one try", async () => {
      sources.add(new Habitual("slow", SLOW));
      const server = theServer({ delayMs: 1_000 });
      await bring(server);
      expect(everything()).toEqual(chunks());
      expect(server.asked.length).toBeGreaterThan(0);
      expect(bytesOf(server.asked)).toBeLessThan(256 * 1024);
    });

    test("from it alone where it is colleagues, whom the line holds up as well", async () => {
      sources.add(new Habitual("colleagues", { ...SLOW, kind: "colleague" }));
      const server = theServer({ delayMs: 10 });
      await bring(server);
      expect(server.asked).toEqual([]);
    });

    test("from it alone where nobody waits, or the server fails", async () => {
      sources.add(new Habitual("slow", SLOW));
      const server = theServer({ delayMs: 10 });
      await bring(server, undefined, false);
      expect(server.asked).toEqual([]);
      begin();
      sources.add(new Habitual("slow", SLOW));
      await bring(theServer({ failsAt: chunks().length - 1 }));
      expect(everything()).toEqual(chunks());
      expect(taken.get("slow")).toEqual(expect.arrayContaining([0, 1, 2, 3, chunks().length - 1]));
    });
  });

  test("without the server where others have all", async () => {
    sources.add(new Habitual("stick"));
    const server = theServer({ failsAt: 0 });
    await bring(server);
    expect(server.asked).toEqual([]);
  });

  test("from a colleague only when they are many bytes", async () => {
    sources.add(new Habitual("colleague", { kind: "colleague" }));
    expect(sources.mayHave(50 * 1024)).toBe(false);
    expect(sources.mayHave(1024 * 1024)).toBe(true);
    expect(sources.mayHave(0)).toBe(false);
  });

  (LONG ? test : test.skip)(
    "in windows, each of them from whoever has it",
    async () => {
      content = await wholeContent(2, 70 * 1024 * 1024);
      const server = theServer({ has: (index) => index % 2 === 0 });
      sources.add(new Habitual("stick", { has: (index) => index % 2 === 1 }));
      await bring(server);
      expect(everything()).toEqual(chunks());
    },
    60_000,
  );
});

describe("a source", () => {
  test("that lies is asked no more, and named; what it brought right counts", async () => {
    const liar = new Habitual("liar", { kind: "colleague", mayRot: false, isWrong: (index) => index === 5 });
    sources.add(liar);
    await bring(theServer());
    expect(everything()).toEqual(chunks());
    expect(liar.wrongs).toEqual([5]);
    expect(taken.get("liar")).not.toContain(5);
    expect(dropped).toEqual(["liar sent what it was not asked for: it is not asked any more."]);
    await clock.advance(3_600_000);
    expect(sources.mayHave(content.sizeBytes)).toBe(false);
  });

  test("that may rot is told what is wrong, and asked for the rest", async () => {
    const rotten = new Habitual("rotten", { isWrong: (index) => index % 7 === 0 });
    sources.add(rotten);
    const server = theServer();
    await bring(server);
    expect(everything()).toEqual(chunks());
    expect(server.asked).toEqual(chunks().filter((index) => index % 7 === 0));
    expect(rotten.wrongs).toEqual(server.asked);
    expect(dropped).toEqual([]);
  });

  test("that fails in the middle costs nothing but time", async () => {
    sources.add(new Habitual("leaver", { failsAt: 4 }));
    await bring(theServer());
    expect(everything()).toEqual(chunks());
    expect(taken.get("leaver")).toEqual([0, 1, 2, 3]);
    expect(dropped).toEqual(["leaver failed: it is not asked for a minute."]);
  });

  test("that was taken away is not asked", async () => {
    const stick = new Habitual("stick");
    sources.add(stick)[Symbol.dispose]();
    expect(sources.mayHave(content.sizeBytes)).toBe(false);
    await bring(theServer());
    expect(stick.asked).toEqual([]);
  });
});

describe("bringing ends", () => {
  test("with the server's failure when chunks are left", async () => {
    sources.add(new Habitual("stick", { has: (index) => index < 10 }));
    await expect(bring(theServer({ failsAt: 12 }))).rejects.toMatchObject({ kind: "Unreachable" });
    expect(everything()).toEqual(chunks().slice(0, 12));
  });

  test("with the server's failure, not waiting for one that says nothing", async () => {
    sources.add(new Habitual("silent", { delayMs: 500_000 }));
    await expect(bring(theServer({ failsAt: 0 }))).rejects.toMatchObject({ kind: "Unreachable" });
    expect(clock.bootMs()).toBeLessThan(10_000);
  });

  test("when nobody wants it any more", async () => {
    const end = new AbortController();
    clock.after(100, () => end.abort(new RunnelError("Interrupted", "read", "Stopped.")));
    await expect(bring(theServer({ delayMs: 1_000 }), end.signal)).rejects.toMatchObject({ kind: "Interrupted" });
    expect(clock.bootMs()).toBeLessThan(2_000);
  });

  test("with the failure of whoever takes them", async () => {
    const bringing = sources.bring({
      content,
      spans: all(content),
      isWaitedFor: true,
      server: theServer(),
      signal: new AbortController().signal,
      take: async () => {
        throw new RunnelError("NoSpace", "write", "The disk is full.");
      },
    });
    await expect(bringing).rejects.toMatchObject({ kind: "NoSpace" });
  });

  test("when the server has no more either", async () => {
    await bring(theServer({ has: (index) => index < 5 }));
    expect(everything()).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("what a program waits for, beside what is wanted in bulk,", () => {
  /** Brings one chunk after another, whoever asks for how many, as a disk does; `brought` has their order. */
  class Disk extends Habitual {
    readonly brought: number[] = [];
    #turn: Promise<void> = Promise.resolve();

    /** The first chunk of a request that never comes. */
    stallsAt = -1;

    override async *get(
      _content: WantedContent,
      spans: readonly ChunkSpan[],
      signal: AbortSignal,
    ): AsyncGenerator<ChunkRun> {
      for (const from of indexesOf(spans)) {
        if (from === this.stallsAt) await new Promise<never>(() => undefined);
        this.#turn = this.#turn.then(() => sleep(clock, CHUNK_MS));
        await this.#turn;
        signal.throwIfAborted();
        this.brought.push(from);
        yield runOf(content, { from, count: 1 });
      }
    }
  }

  const CHUNK_MS = 200;

  function bringOf(spans: readonly ChunkSpan[], isWaitedFor: boolean, server: ChunkSource) {
    let isOver = false;
    const wish = { content, spans, isWaitedFor, server, signal: new AbortController().signal };
    const done = sources.bring({ ...wish, take: async () => undefined }).then(() => void (isOver = true));
    return { done, isOver: () => isOver };
  }

  test.each([5, 30])("goes first at a slow source (%i chunks), and the rest goes on after it", async (count) => {
    content = await wholeContent(1, 9_000_000);
    const [disk, server] = [new Disk("disk"), theServer({ has: () => false })];
    sources.add(disk);
    const last = content.recipe.lengths.length;
    const bulk = bringOf([{ from: 0, count: last - count }], false, server);
    await clock.advance(10 * CHUNK_MS);
    const before = disk.brought.length;
    const waited = bringOf([{ from: last - count, count }], true, server);
    await clock.runUntil(waited.isOver, 100_000);
    // Runs that were under way then come before it: the bulk asks for two pieces at once.
    expect(disk.brought.length - before - count).toBeLessThanOrEqual(2);
    expect(bulk.isOver()).toBe(false);
    await clock.runUntil(bulk.isOver, 10_000_000);
    expect(bulk.isOver()).toBe(true);
    await Promise.all([bulk.done, waited.done]);
    // Whoever is held is not late.
    expect(dropped).toEqual([]);
    expect(disk.brought.toSorted((one, other) => one - other)).toEqual(chunks());
    expect(clock.pendingTimers).toBe(0);
  });

  test("holds nothing up where it never comes", async () => {
    content = await wholeContent(1, 9_000_000);
    const [disk, server] = [new Disk("disk"), theServer()];
    sources.add(disk);
    const last = content.recipe.lengths.length;
    disk.stallsAt = last - 5;
    const bulk = bringOf([{ from: 0, count: last - 5 }], false, server);
    await clock.advance(10 * CHUNK_MS);
    const waited = bringOf([{ from: last - 5, count: 5 }], true, server);
    await clock.runUntil(bulk.isOver, 10_000_000);
    expect([waited.isOver(), bulk.isOver()]).toEqual([true, true]);
    expect(server.asked).toEqual(chunks().slice(-5));
    expect(dropped).toEqual(["disk does not answer: it is not asked for a minute."]);
  });
});

test("whatever the others do, all comes, each chunk once and right", async () => {
  const habits = fc.record({
    kind: fc.constantFrom<SourceKind>("folder", "stick", "colleague"),
    every: fc.integer({ min: 1, max: 5 }),
    delayMs: fc.constantFrom(0, 10, 1_000, 30_000),
    locateMs: fc.constantFrom(0, 100, 5_000),
    mayRot: fc.boolean(),
    wrongEvery: fc.integer({ min: 2, max: 40 }),
    failsAt: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
    isOnItsWay: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(habits, { maxLength: 6 }), fc.constantFrom(0, 5), async (several, serverMs) => {
      begin();
      for (const [number, { every, wrongEvery, failsAt, ...rest }] of several.entries()) {
        const has = (index: number): boolean => index % every === 0;
        const isWrong = (index: number): boolean => index % wrongEvery === 1;
        const odd = { ...rest, has, isWrong, ...(failsAt === undefined ? {} : { failsAt }) };
        sources.add(new Habitual(`source ${number}`, odd));
      }
      await bring(theServer({ delayMs: serverMs }));
      expect(everything()).toEqual(chunks());
    }),
    { numRuns: 30 },
  );
}, 60_000);
