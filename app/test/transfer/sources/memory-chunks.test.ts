// Chunks in memory: a source, and a place that they are written to.
import { expect, test } from "@jest/globals";
import { MemoryChunks } from "../../../src/agent/transfer/sources/memory-chunks.ts";
import { sinkContract } from "./chunk-sink-contract.ts";
import { all, runOf, sourceContract, wholeContent } from "./chunk-source-contract.ts";

sourceContract("a memory", async (content) => {
  const source = new MemoryChunks("stick", "a memory");
  for (const from of content.recipe.lengths.keys()) await source.put(content, runOf(content, { from, count: 1 }));
  return { source, close: async () => undefined };
});

sinkContract("a memory", async () => {
  const sink = new MemoryChunks("stick", "a memory");
  return { sink, reopen: async () => sink, close: async () => undefined };
});

test("a memory forgets a chunk that was wrong", async () => {
  const content = await wholeContent(1);
  const sink = new MemoryChunks("stick", "a memory");
  await sink.put(content, runOf(content, { from: 0, count: 3 }));
  sink.wrong(content, 1);
  expect(await sink.locate(content, all(content))).toEqual([
    { from: 0, count: 1 },
    { from: 2, count: 1 },
  ]);
});
