// Chunks in memory: a source, and a place that they are written to.
import { describe, expect, test } from "@jest/globals";
import { MemoryChunks } from "../../../src/agent/transfer/sources/memory-chunks.ts";
import { all, runOf, sourceContract, wholeContent } from "./chunk-source-contract.ts";

sourceContract("a memory", async (content) => {
  const source = new MemoryChunks("stick", "a memory");
  for (const from of content.recipe.lengths.keys()) await source.put(content, runOf(content, { from, count: 1 }));
  return { source, close: async () => undefined };
});

describe("a memory as a place for chunks", () => {
  test("lacks what it was not given, and has what it was", async () => {
    const content = await wholeContent(1);
    const sink = new MemoryChunks("stick", "a memory");
    await sink.put(content, runOf(content, { from: 0, count: 3 }));
    await sink.flush();
    expect(await sink.lacks(content, all(content))).toEqual([{ from: 3, count: content.recipe.lengths.length - 3 }]);
    expect(await sink.locate(content, all(content))).toEqual([{ from: 0, count: 3 }]);
  });

  test("forgets a chunk that was wrong", async () => {
    const content = await wholeContent(1);
    const sink = new MemoryChunks("stick", "a memory");
    await sink.put(content, runOf(content, { from: 0, count: 3 }));
    sink.wrong(content, 1);
    expect(await sink.locate(content, all(content))).toEqual([
      { from: 0, count: 1 },
      { from: 2, count: 1 },
    ]);
  });
});
