// The chunker against the golden vectors, which come from long division and not from tables, and its properties.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { CHUNK_PRESETS, LIMITS } from "@runnel/shared";
import type { ChunkPreset } from "@runnel/shared";
import * as fc from "fast-check";
import { buildContent, generator } from "@runnel/shared/vectors/content.ts";
import type { ContentPart } from "@runnel/shared/vectors/content.ts";
import { coreAddon } from "../src/host/core-addon.ts";
import type { ChunkEngine, DigestEngine } from "../src/host/core-addon.ts";

interface Vector {
  name: string;
  preset: ChunkPreset;
  parts: ContentPart[];
  sizeBytes: number;
  sha256: string;
  lengths: number[];
}

const vectorFile = new URL("../../shared/vectors/chunks.json", import.meta.url);
const addonFile = new URL("../build/core.node", import.meta.url);
const vectors = (JSON.parse(readFileSync(vectorFile, "utf8")) as { cases: Vector[] }).cases;
const vector = (name: string): Vector => vectors.find((one) => one.name === name) as Vector;

/** Cuts a content that comes in steps of these sizes, the last one again and again. */
function cut(
  bytes: Uint8Array,
  steps: readonly number[] = [bytes.length],
  engine?: ChunkEngine,
  preset?: ChunkPreset,
  digest?: DigestEngine | "none",
): { lengths: number[]; digests: string } {
  const stream = new (coreAddon().ChunkStream)(engine, preset, digest);
  for (let at = 0, step = 0; at < bytes.length; step++) {
    const size = Math.max(1, steps[Math.min(step, steps.length - 1)] ?? bytes.length);
    stream.update(bytes.subarray(at, at + size));
    at += size;
  }
  const chunks = stream.finish();
  return { lengths: [...new Uint32Array(chunks.lengths)], digests: Buffer.from(chunks.digests).toString("hex") };
}

const presets = fc.constantFrom<ChunkPreset>(0, 1, 2, 3, 4);

/** Positions where chunks end. */
function ends(lengths: readonly number[]): number[] {
  let at = 0;
  return lengths.map((length) => (at += length));
}

describe("the chunker", () => {
  for (const { name, preset, parts, sizeBytes, sha256, lengths } of vectors) {
    test(`cuts as the vectors say: ${name}`, () => {
      const bytes = buildContent(parts);
      expect(bytes.length).toBe(sizeBytes);
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
      expect(cut(bytes, undefined, undefined, preset).lengths).toEqual(lengths);
    });
  }

  test("cuts a content that comes byte by byte as it cuts it at once", () => {
    for (const name of ["random", "text", "zeros, random, zeros"]) {
      const bytes = buildContent(vector(name).parts);
      expect(cut(bytes, [1])).toEqual(cut(bytes));
    }
  });

  test("cuts alike however the content is split", () => {
    const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(5000), fc.constantFrom(47, 48, 49, 2000, 2048, 65_536)), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 200_000 }), sizes, (seed, length, steps) => {
        const bytes = buildContent([{ random: { seed, length } }]);
        expect(cut(bytes, steps)).toEqual(cut(bytes));
      }),
      { numRuns: 60 },
    );
  });

  test("keeps to the minimum and the maximum", () => {
    const content = fc.array(
      fc.oneof(
        fc.record({ random: fc.record({ seed: fc.nat(), length: fc.nat(100_000) }) }),
        fc.record({ zeros: fc.nat(100_000) }),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(content, presets, (parts, preset) => {
        const bytes = buildContent(parts);
        const { minBytes, maxBytes } = CHUNK_PRESETS[preset];
        const { lengths } = cut(bytes, undefined, undefined, preset);
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(bytes.length);
        for (const length of lengths) expect(length).toBeLessThanOrEqual(maxBytes);
        for (const length of lengths.slice(0, -1)) expect(length).toBeGreaterThanOrEqual(minBytes);
        expect(maxBytes).toBeLessThanOrEqual(LIMITS.runBytes);
      }),
      { numRuns: 40 },
    );
  });

  test("cuts a rest from a chunk border as it cut the whole", () => {
    const bytes = buildContent(vector("random").parts);
    const { lengths } = cut(bytes);
    for (const border of ends(lengths).slice(0, -1)) {
      const rest = cut(bytes.subarray(border));
      expect(lengths.slice(-rest.lengths.length)).toEqual(rest.lengths);
    }
  });

  test("moves only the cuts near an insertion", () => {
    const [before, after] = ["random", "random with 100 bytes inserted in the middle"].map((name) =>
      ends(vector(name).lengths),
    );
    const insertedAt = 150_000;
    const kept = (before as number[]).filter((end) => (after as number[]).includes(end < insertedAt ? end : end + 100));
    expect((before as number[]).length - kept.length).toBeLessThanOrEqual(2);
    expect(kept.filter((end) => end > insertedAt).length).toBeGreaterThan(5);
  });

  test("starts anew after the end of a stream", () => {
    const stream = new (coreAddon().ChunkStream)();
    const bytes = Uint8Array.from(
      { length: 10_000 },
      (
        (next) => () =>
          next.next().value
      )(generator(5)),
    );
    stream.update(bytes);
    const first = stream.finish();
    stream.update(bytes);
    expect(stream.finish()).toEqual(first);
    expect(new Uint32Array(stream.finish().lengths)).toHaveLength(0);
  });
});

describe("the engines of the chunker", () => {
  const engines = coreAddon().chunkEngines;
  /** Parts that have many breakpoints, none at all, or some, in any order and of any length. */
  const parts = fc.array(
    fc.oneof(
      fc.record({ random: fc.record({ seed: fc.nat(), length: fc.nat(400_000) }) }),
      fc.record({ zeros: fc.nat(200_000) }),
      fc.record({ words: fc.record({ seed: fc.nat(), length: fc.nat(200_000) }) }),
      fc.record({
        repeat: fc.record({ hex: fc.uint8Array({ minLength: 1, maxLength: 300 }).map(toHex), length: fc.nat(200_000) }),
      }),
    ),
    { minLength: 1, maxLength: 4 },
  );
  const steps = fc.array(fc.oneof(fc.nat(100), fc.nat(30_000), fc.nat(700_000)), { minLength: 1, maxLength: 30 });

  test.each(engines)("%s cuts as the plain roll, however the content is split", (engine) => {
    fc.assert(
      fc.property(parts, steps, presets, (described, sizes, preset) => {
        const bytes = buildContent(described);
        expect(cut(bytes, sizes, engine, preset)).toEqual(cut(bytes, undefined, "plain", preset));
      }),
      { numRuns: 60 },
    );
  });

  test.each(engines)("%s cuts as the plain roll where every other window is a breakpoint", (engine) => {
    const bytes = Buffer.alloc(1_500_000, Buffer.from([0xf1, 0x10]));
    const { lengths } = cut(bytes, undefined, "plain");
    expect(lengths.slice(0, 3)).toEqual([2048, 2048, 2048]);
    expect(cut(bytes, [1_500_000], engine).lengths).toEqual(lengths);
  });

  test.each(engines)("%s cuts as the plain roll at every length around the least that it takes", (engine) => {
    const bytes = buildContent([{ random: { seed: 11, length: 9000 } }]);
    for (let length = 8100; length < 9000; length += 7) {
      const some = bytes.subarray(0, length);
      expect(cut(some, [length], engine)).toEqual(cut(some, undefined, "plain"));
    }
  });

  test.each(engines)("%s cuts large chunks at breakpoints of the small ones", (engine) => {
    const bytes = buildContent([{ random: { seed: 12, length: 6_000_000 } }]);
    const breakpoints = new Set(ends(cut(bytes, undefined, engine).lengths));
    for (const preset of [1, 2] as const) {
      const { lengths, digests } = cut(bytes, undefined, engine, preset);
      expect({ lengths, digests }).toEqual(cut(bytes, [65_536], "plain", preset));
      const { maxBytes, minBytes } = CHUNK_PRESETS[preset];
      expect(lengths.length).toBeGreaterThan(6_000_000 / (maxBytes / 2 + minBytes) / 2);
      const chosen = ends(lengths).filter((_, at) => (lengths[at] ?? 0) < maxBytes);
      // A small chunk may end just before, and the breakpoint lie within its minimum.
      expect(chosen.filter((end) => breakpoints.has(end)).length).toBeGreaterThan(chosen.length / 2);
    }
  });

  test.each(engines)("%s cuts real files as the plain roll, with every preset", (engine) => {
    for (const bytes of [readFileSync(addonFile), readFileSync(vectorFile), readFileSync(new URL(import.meta.url))]) {
      for (const preset of [0, 1, 2, 3, 4] as const) {
        expect(cut(bytes, undefined, engine, preset)).toEqual(cut(bytes, undefined, "plain", preset));
        expect(cut(bytes, [70_001, 9000, 300_000], engine, preset)).toEqual(cut(bytes, undefined, "plain", preset));
      }
    }
  });

  test.each(engines)("%s cuts tiny inputs as the plain roll", (engine) => {
    for (let length = 0; length < 200; length++) {
      const bytes = buildContent([{ random: { seed: length, length } }]);
      for (const preset of [0, 1, 2, 3, 4] as const) {
        const plain = cut(bytes, undefined, "plain", preset);
        expect(plain.lengths).toEqual(length === 0 ? [] : [length]);
        expect(cut(bytes, undefined, engine, preset)).toEqual(plain);
        expect(cut(bytes, [1], engine, preset)).toEqual(plain);
      }
    }
  });

  test("has the portable one, and those of the processor before it", () => {
    expect(engines.slice(-2)).toEqual(["portable", "roll"]);
  });

  test("refuses one that is not there", () => {
    expect(() => new (coreAddon().ChunkStream)("none" as ChunkEngine)).toThrow(/none/);
  });
});

describe("digests of chunks", () => {
  const digests = coreAddon().digestEngines;
  const random = buildContent([{ random: { seed: 20, length: 2_500_000 } }]);

  test.each(digests)("%s makes those that node:crypto makes, however the content is split", (digest) => {
    const steps = fc.array(fc.oneof(fc.nat(100), fc.nat(30_000), fc.nat(1_500_000)), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.nat(2_500_000), steps, presets, (length, sizes, preset) => {
        const bytes = random.subarray(0, length);
        const chunks = cut(bytes, sizes, undefined, preset, digest);
        expect(chunks.digests).toBe(digestsOf(bytes, chunks.lengths));
      }),
      { numRuns: 15 },
    );
  });

  test("are left out when none are wanted, and the cuts are the same", () => {
    const bytes = buildContent([{ random: { seed: 3, length: 1_300_000 } }, { zeros: 200_000 }]);
    for (const engine of ["plain", undefined] as const) {
      const { lengths } = cut(bytes, [500_000], engine);
      expect(cut(bytes, [500_000], engine, 0, "none")).toEqual({ lengths, digests: "" });
    }
  });
});

function digestsOf(bytes: Uint8Array, lengths: readonly number[]): string {
  return ends(lengths)
    .map((end, at) =>
      createHash("sha256")
        .update(bytes.subarray(end - (lengths[at] ?? 0), end))
        .digest("hex"),
    )
    .join("");
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
