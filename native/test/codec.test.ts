// Properties of the zstd codec; its cases are in the Executor contract.
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { inlineExecutor } from "../index.ts";
import { coreAddon } from "../src/host/core-addon.ts";

const executor = inlineExecutor();
const NONE = new Uint8Array(0);

describe("zstd", () => {
  test("gives back whatever it compressed", async () => {
    const repetitive = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.integer({ min: 1, max: 500 }))
      .map(([pattern, times]) => Buffer.concat(Array.from({ length: times }, () => pattern)));
    await fc.assert(
      fc.asyncProperty(repetitive, fc.integer({ min: 1, max: 19 }), async (bytes, level) => {
        const compressed = await executor.compress(bytes, level);
        if (compressed === undefined) return;
        expect(compressed.length).toBeLessThan(bytes.length);
        expect(Buffer.from(await executor.decompress(compressed, bytes.length)).equals(bytes)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("answers any garbage with Corrupt", async () => {
    const compressed = (await executor.compress(Buffer.from("ab".repeat(3000)), 3)) as Uint8Array;
    const garbage = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      // A frame with one byte changed, which may also still be a frame.
      fc.tuple(fc.nat(compressed.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
        const changed = Uint8Array.from(compressed);
        changed[at] = (changed[at] as number) ^ mask;
        return changed;
      }),
    );
    await fc.assert(
      fc.asyncProperty(garbage, async (bytes) => {
        const result = await executor.decompress(bytes, 6000).catch((error: { kind: string }) => error.kind);
        expect(result === "Corrupt" || (result as Uint8Array).length === 6000).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("takes no memory for a run that says it is larger than it may be", () => {
    const bomb = coreAddon().compressNow(new Uint8Array(64 * 1024 * 1024), NONE, 19) as ArrayBuffer;
    expect(bomb.byteLength).toBeLessThan(10_000);
    expect(coreAddon().mayHoldRun(new Uint8Array(bomb), 1000)).toBe(false);
    const into = new Uint8Array(1000).fill(7);
    expect(() => coreAddon().decompressNow(new Uint8Array(bomb), NONE, into)).toThrow();
  });
});
