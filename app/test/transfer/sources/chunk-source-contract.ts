// The contract that every source of chunks keeps, whatever brings them.
import { describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { SeededRandom, chunkOffsets, concatRecipes, presetFor, indexesOf, joinIndexes } from "@runnel/shared";
import type {
  ChunkRun,
  ChunkSource,
  ChunkSpan,
  WantedContent,
} from "../../../src/agent/transfer/sources/chunk-source.ts";
import { rangeOf } from "../../../src/agent/transfer/sources/chunk-spans.ts";

/** A content, and what a source is made of to have some of it. */
export interface WholeContent extends WantedContent {
  bytes: Uint8Array;
}

export interface OpenedSource {
  source: ChunkSource;
  close(): Promise<void>;
}

const SIZE_BYTES = 1_500_000;
const MANY_MS = 60_000;

export async function wholeContent(seed: number, sizeBytes = SIZE_BYTES): Promise<WholeContent> {
  const bytes = new SeededRandom(seed).bytes(sizeBytes);
  const recipe = await inlineExecutor().chunkBytes(bytes, presetFor(sizeBytes));
  return { version: { node: 7, seq: seed }, sizeBytes, recipe, bytes };
}

export function all({ recipe }: WantedContent): ChunkSpan[] {
  return [{ from: 0, count: recipe.lengths.length }];
}

/** Bytes of a run as they are in the content. */
export function runOf({ recipe, bytes }: WholeContent, span: ChunkSpan): ChunkRun {
  const { offset, length } = rangeOf(recipe, span);
  return { ...span, bytes: bytes.subarray(offset, offset + length) };
}

/** `open` makes a source that has the content. `hasOnlyThis`: it knows chunks by their digests, in any content. */
export function sourceContract(
  what: string,
  open: (content: WholeContent) => Promise<OpenedSource>,
  { hasOnlyThis = true } = {},
): void {
  async function brought(source: ChunkSource, content: WantedContent, spans: ChunkSpan[]): Promise<ChunkRun[]> {
    const runs: ChunkRun[] = [];
    for await (const run of source.get(content, spans, new AbortController().signal)) if (run.count > 0) runs.push(run);
    return runs;
  }

  describe(`${what} as a source of chunks`, () => {
    test(
      "says what it has, and brings it, each chunk once and right",
      async () => {
        const content = await wholeContent(1);
        const { source, close } = await open(content);
        const located = await source.locate(content, all(content), new AbortController().signal);
        expect(joinIndexes(indexesOf(located))).toEqual(all(content));
        const runs = await brought(source, content, all(content));
        const indexes = runs.flatMap((run) => [...indexesOf([run])]);
        expect(joinIndexes(indexes.toSorted((one, other) => one - other))).toEqual(all(content));
        for (const run of runs) {
          const right = runOf(content, run).bytes;
          expect(Buffer.compare(run.bytes, right)).toBe(0);
          expect(run.count === 1 || run.bytes.length <= 1024 * 1024).toBe(true);
        }
        await close();
      },
      MANY_MS,
    );

    test(
      "brings some chunks, here and there, and no other ones",
      async () => {
        const content = await wholeContent(2);
        const { source, close } = await open(content);
        const spans = [2, 3, 9, 20].map((from) => ({ from, count: 1 }));
        const runs = await brought(source, content, spans);
        expect(runs.flatMap((run) => [...indexesOf([run])]).toSorted((one, other) => one - other)).toEqual([
          2, 3, 9, 20,
        ]);
        for (const run of runs) expect(Buffer.compare(run.bytes, runOf(content, run).bytes)).toBe(0);
        await close();
      },
      MANY_MS,
    );

    test(
      "stops when nobody wants more",
      async () => {
        const content = await wholeContent(3);
        const { source, close } = await open(content);
        const end = new AbortController();
        const runs = source.get(content, all(content), end.signal)[Symbol.asyncIterator]();
        await runs.next();
        end.abort();
        const rest = (async () => {
          while ((await runs.next()).done !== true);
        })();
        await rest.catch(() => undefined);
        await close();
      },
      MANY_MS,
    );

    if (hasOnlyThis)
      test(
        "brings what it has of a content that it has in part",
        async () => {
          const [mine, other] = [await wholeContent(4), await wholeContent(5)];
          const { source, close } = await open(mine);
          const recipe = concatRecipes([other.recipe, mine.recipe]);
          const sizeBytes = mine.sizeBytes + other.sizeBytes;
          const content = { version: { node: 8, seq: 9 }, sizeBytes, recipe };
          const its = { from: other.recipe.lengths.length, count: mine.recipe.lengths.length };
          expect(
            joinIndexes(indexesOf(await source.locate(content, all(content), new AbortController().signal))),
          ).toEqual([its]);
          const runs = await brought(source, content, all(content));
          const offsets = chunkOffsets(recipe);
          for (const run of runs) {
            const start = (offsets[run.from] ?? 0) - other.sizeBytes;
            expect(Buffer.compare(run.bytes, mine.bytes.subarray(start, start + run.bytes.length))).toBe(0);
          }
          expect(runs.reduce((sum, { count }) => sum + count, 0)).toBe(its.count);
          await close();
        },
        MANY_MS,
      );
  });
}
