// Presets that a content is cut with, and that a recipe shows.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../src/limits.ts";
import {
  CHUNK_PRESETS,
  type ChunkPreset,
  isFixedPreset,
  likelyChunks,
  presetFor,
  presetOf,
} from "../../src/model/chunk-presets.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

describe("presets", () => {
  test.each([
    [0, 0],
    [256 * MiB, 0],
    [256 * MiB + 1, 1],
    [8 * GiB, 1],
    [8 * GiB + 1, 2],
    [2 ** 50, 2],
  ] as const)("of a new file of %i bytes it is %i", (sizeBytes, preset) => {
    expect(presetFor(sizeBytes)).toBe(preset);
  });

  test("[W62] the one of a recipe is what its chunks but the last leave possible", () => {
    const cases: [number[], number | undefined][] = [
      [[], undefined],
      [[5], undefined],
      [[64 * KiB], undefined],
      [[65 * KiB], undefined],
      [[2 * KiB, 1], 0],
      [[15 * KiB, 40 * KiB, 1], 0],
      [[17 * KiB, 40 * KiB, 1], undefined],
      [[17 * KiB, 65 * KiB, 1], 1],
      [[17 * KiB, 40 * KiB, 65 * KiB], 1],
      [[64 * KiB, 64 * KiB, 5], 0],
      [[255 * KiB, 512 * KiB, 5], 1],
      [[300 * KiB, 400 * KiB, 5], undefined],
      [[512 * KiB, 512 * KiB, 5], 1],
      [[300 * KiB, 513 * KiB, 5], 2],
      [[300 * KiB, 300 * KiB, 513 * KiB], 2],
      [[MiB, MiB, 5], 2],
      [[KiB, MiB, 5], undefined],
    ];
    for (const [lengths, preset] of cases)
      expect([lengths, presetOf({ lengths: Uint32Array.from(lengths) })]).toEqual([lengths, preset]);
  });

  test.each([
    [0, 3],
    [8 * GiB, 3],
    [8 * GiB + 1, 4],
    [256 * GiB, 4],
  ] as const)("[W211] of %i bytes in fixed chunks it is %i", (sizeBytes, preset) => {
    expect(presetFor(sizeBytes, "fixed")).toBe(preset);
    expect(likelyChunks(sizeBytes, preset)).toBe(Math.ceil(sizeBytes / CHUNK_PRESETS[preset].minBytes));
    expect(likelyChunks(sizeBytes, preset)).toBeLessThanOrEqual(LIMITS.recipeDescriptors);
  });

  test("have chunks that fit into a run, and recipes of a tebibyte that are within the limit", () => {
    for (const [preset, { minBytes, maxBytes, breakpointBits }] of CHUNK_PRESETS.entries()) {
      expect(maxBytes).toBeLessThanOrEqual(LIMITS.runBytes);
      if (!isFixedPreset(preset as ChunkPreset)) expect(minBytes).toBeLessThan(2 ** breakpointBits);
    }
    expect((1024 * GiB) / CHUNK_PRESETS[2].minBytes).toBeLessThanOrEqual(LIMITS.recipeDescriptors);
  });
});
