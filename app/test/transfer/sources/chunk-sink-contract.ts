// The contract that every place for chunks keeps, wherever it writes them.
import { describe, expect, test } from "@jest/globals";
import { concatRecipes, indexesOf, joinIndexes } from "@runnel/shared";
import type { ChunkSink, ChunkSource, ChunkSpan } from "../../../src/agent/transfer/sources/chunk-source.ts";
import { type WholeContent, all, runOf, wholeContent } from "./chunk-source-contract.ts";

export interface OpenedSink {
  sink: ChunkSink;
  /** Opens what has been flushed, as somebody else finds it. The sink is not used any more. */
  reopen(): Promise<ChunkSource>;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

/** Gives the sink these runs, in this order, and has them durable. */
async function give(sink: ChunkSink, content: WholeContent, spans: readonly ChunkSpan[]): Promise<void> {
  for (const span of spans) await sink.put(content, runOf(content, span));
  await sink.flush();
}

/** Chunks that a source brings, each of which must be right. */
async function broughtOf(source: ChunkSource, content: WholeContent): Promise<number[]> {
  const brought: number[] = [];
  for await (const run of source.get(content, all(content), NEVER)) {
    expect(Buffer.compare(run.bytes, runOf(content, run).bytes)).toBe(0);
    brought.push(...indexesOf([run]));
  }
  return brought.toSorted((one, other) => one - other);
}

/** `open` makes one that has nothing. */
export function sinkContract(what: string, open: () => Promise<OpenedSink>): void {
  describe(`${what} as a place for chunks`, () => {
    test("lacks what it was not given, of what it is asked about, ascending", async () => {
      const content = await wholeContent(1);
      const count = content.recipe.lengths.length;
      const { sink, close } = await open();
      expect(joinIndexes(indexesOf(await sink.lacks(content, all(content))))).toEqual(all(content));
      await give(sink, content, [
        { from: 7, count: 2 },
        { from: 2, count: 3 },
      ]);
      expect(await sink.lacks(content, all(content))).toEqual([
        { from: 0, count: 2 },
        { from: 5, count: 2 },
        { from: 9, count: count - 9 },
      ]);
      expect(await sink.lacks(content, [{ from: 3, count: 3 }])).toEqual([{ from: 5, count: 1 }]);
      expect(await sink.lacks(content, [{ from: 2, count: 3 }])).toEqual([]);
      await close();
    });

    test("has a chunk once it was given, before anything is flushed", async () => {
      const content = await wholeContent(2);
      const { sink, close } = await open();
      await sink.put(content, runOf(content, { from: 4, count: 1 }));
      expect(await sink.lacks(content, [{ from: 4, count: 2 }])).toEqual([{ from: 5, count: 1 }]);
      await close();
    });

    test("knows a chunk by its digest, in whatever content it is", async () => {
      const [mine, other] = [await wholeContent(3), await wholeContent(4)];
      const { sink, close } = await open();
      await give(sink, mine, all(mine).flatMap(singly));
      const recipe = concatRecipes([other.recipe, mine.recipe]);
      const content = { version: { node: 8, seq: 9 }, sizeBytes: mine.sizeBytes + other.sizeBytes, recipe };
      const lacking = joinIndexes(indexesOf(await sink.lacks(content, all(content))));
      expect(lacking).toEqual([{ from: 0, count: other.recipe.lengths.length }]);
      await close();
    });

    test("gives back what was flushed, in whatever order and runs it came", async () => {
      const content = await wholeContent(5);
      const { sink, reopen, close } = await open();
      await give(sink, content, [
        { from: 20, count: 4 },
        { from: 3, count: 1 },
      ]);
      await sink.flush();
      await give(sink, content, [{ from: 0, count: 3 }]);
      expect(await broughtOf(await reopen(), content)).toEqual([0, 1, 2, 3, 20, 21, 22, 23]);
      await close();
    });
  });
}

function singly({ from, count }: ChunkSpan): ChunkSpan[] {
  return Array.from({ length: count }, (_, at) => ({ from: from + at, count: 1 }));
}
